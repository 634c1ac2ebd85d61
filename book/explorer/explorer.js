// The epsilon explorer looks numbers up in the grid that stands beside it in the page. It never computes a privacy
// number and never interpolates.
(function () {
  "use strict";
  var grid = JSON.parse(document.getElementById("pv-explorer-data").textContent);
  var axes = [grid.data_sets, grid.block_sizes, grid.betas, grid.counts, grid.handoffs];
  var controls = ["data", "block", "beta", "count", "handoff"].map(function (name) {
    return document.getElementById("pv-x-" + name);
  });
  var SVG = "http://www.w3.org/2000/svg";

  function element(id) {
    return document.getElementById("pv-x-" + id);
  }

  function place(positions) {
    return positions.reduce(function (total, position, axis) {
      return total * axes[axis].length + position;
    }, 0);
  }

  function words(number) {
    return number.toLocaleString("en-US");
  }

  function outputs(count) {
    return count === 1 ? "one output" : words(count) + " outputs together";
  }

  function handoff(position) {
    return grid.handoffs[position] + " of " + grid.num_steps + " steps, last private noise level " +
      grid.handoff_sigmas[position];
  }

  // 0.00001 as 10 with a raised exponent; the grid's deltas are powers of ten.
  function power(value) {
    var exponent = Math.round(Math.log10(value));
    var raised = String(-exponent).replace(/\d/g, function (digit) {
      return "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(Number(digit));
    });
    return Math.abs(value / Math.pow(10, exponent) - 1) < 1e-9 && exponent < 0 ? "10⁻" + raised : String(value);
  }

  function facts(pairs) {
    var list = element("facts");
    list.replaceChildren();
    pairs.forEach(function (pair) {
      var term = document.createElement("dt");
      var description = document.createElement("dd");
      term.textContent = pair[0];
      description.textContent = pair[1];
      list.append(term, description);
    });
  }

  function show() {
    var positions = controls.map(function (control) {
      return Number(control.value);
    });
    var index = place(positions);
    var lower = grid.lower[index];
    var upper = grid.upper[index];
    var data = grid.data_sets[positions[0]];
    var size = grid.block_sizes[positions[1]];
    var count = grid.counts[positions[3]];
    var text = handoff(positions[4]);
    element("handoff-text").textContent = text;
    controls[4].setAttribute("aria-valuetext", text);
    element("answer").textContent = upper === null
      ? "No certified upper bound of epsilon at this point."
      : "Epsilon is at most " + upper + " (certified).";
    facts([
      ["Upper end", upper === null ? "none" : upper + ", rounded up"],
      ["Lower end", lower === null ? "none" : lower + ", rounded down"],
      ["Delta", power(data.delta)],
      ["Adjacency", "add or remove one record"],
      ["Sampling", "Poisson, q = " + size + "/" + words(data.records) + ", one block for each output"],
      ["Covers", outputs(count)],
      ["Sensitivity", "1/beta = " + 1 / grid.betas[positions[2]] + ", taken as given"],
      ["Accountant", "certified accountant of this book, both ends proved"]
    ]);
    draw(positions);
  }

  function node(name, attributes, text) {
    var made = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) {
      made.setAttribute(key, attributes[key]);
    });
    if (text !== undefined) {
      made.textContent = text;
    }
    return made;
  }

  function line(x1, x2, y1, y2, more) {
    return node("line", Object.assign({ x1: x1, x2: x2, y1: y1, y2: y2, stroke: "currentColor" }, more));
  }

  function textAt(x, y, text, more) {
    var usual = { x: x, y: y, "text-anchor": "middle", fill: "currentColor" };
    return node("text", Object.assign(usual, more), text);
  }

  // Stems instead of a line: nothing is claimed between the points of the grid.
  function draw(positions) {
    var body = element("chart-body");
    var left = 96, right = 630, top = 16, bottom = 240;
    var values = grid.handoffs.map(function (_, position) {
      var upper = grid.upper[place(positions.slice(0, 4).concat(position))];
      return upper === null ? null : Number(upper);
    });
    var positive = values.filter(function (value) {
      return value !== null && value > 0;
    });
    body.replaceChildren();
    var title = "Certified upper bound of epsilon, logarithmic scale, against the number of private steps. " +
      grid.handoffs.map(function (steps, position) {
        return steps + " steps: " + (values[position] === null ? "none" : values[position]);
      }).join("; ") + ".";
    element("chart-title").textContent = title;
    element("caption").textContent = "Certified upper bound of epsilon (logarithmic scale) at each hand-off of the " +
      "grid, for the choices above. The filled point is the one described; an epsilon of 0 is drawn at the foot.";
    var low = positive.length ? Math.floor(Math.log10(Math.min.apply(null, positive))) : -1;
    var high = positive.length ? Math.ceil(Math.log10(Math.max.apply(null, positive))) : 0;
    if (high <= low) {
      high = low + 1;
    }

    function x(position) {
      return left + (position + 0.5) / grid.handoffs.length * (right - left);
    }
    function y(value) {
      return value <= 0 ? bottom : bottom - (Math.log10(value) - low) / (high - low) * (bottom - top);
    }

    var stride = Math.ceil((high - low) / 6);
    for (var decade = low; decade <= high; decade += stride) {
      var level = y(Math.pow(10, decade));
      body.append(line(left, right, level, level, { "stroke-opacity": 0.2 }));
      var label = decade >= -3 && decade <= 4 ? String(Number(Math.pow(10, decade).toPrecision(1))) : "1e" + decade;
      body.append(textAt(left - 8, level + 6, label, { "text-anchor": "end" }));
    }
    grid.handoffs.forEach(function (steps, position) {
      var at = x(position);
      body.append(textAt(at, bottom + 26, String(steps), {}));
      if (values[position] === null) {
        return;
      }
      var chosen = position === positions[4];
      var tip = y(values[position]);
      body.append(line(at, at, bottom, tip, { "stroke-opacity": chosen ? 0.9 : 0.35, "stroke-width": 2 }));
      var circle = node("circle", { cx: at, cy: tip, r: chosen ? 7 : 5, "stroke-width": 2 });
      circle.style.stroke = "var(--pst-color-primary)";
      circle.style.fill = chosen ? "var(--pst-color-primary)" : "var(--pst-color-background)";
      body.append(circle);
    });
    var middle = (top + bottom) / 2;
    body.append(textAt((left + right) / 2, 300, "private steps", {}));
    body.append(textAt(22, middle, "epsilon, upper end", { transform: "rotate(-90 22 " + middle + ")" }));
  }

  // Start at the paper's first row: CIFAR-10, B = 25, beta = 1, 50,000 outputs, 22 steps; browsers may remember others.
  var start = [0, 0, 0, grid.counts.length - 1, Math.max(0, grid.handoffs.indexOf(22))];
  controls.forEach(function (control, axis) {
    control.value = String(start[axis]);
    control.addEventListener("input", show);
    control.addEventListener("change", show);
  });
  document.querySelector("#pv-explorer form").addEventListener("submit", function (event) {
    event.preventDefault();
  });
  show();
  document.getElementById("pv-explorer-live").hidden = false;
  document.getElementById("pv-explorer-tables").open = false;
})();
