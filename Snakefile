# The one graph from source to page. Run it through `make book`, or directly, with the tools of .venv on PATH:
#
#   snakemake -c2 book                                            the site, _build/html/index.html
#   snakemake -c2 fig05_per_step_mu --config profile=smoke        one notebook, by its bare name
#   snakemake -c2 check                                           fail if a printed number or trend has moved
#   snakemake --executor slurm -j 20 book                         the same graph elsewhere, with an executor plugin
#
# A notebook runs again when it, its parameters in the profile, a privlib module it imports (directly or not), a claims
# file or bundle that it names or the lock file has changed. A profile can take a notebook apart into jobs (`scatter`).
# GPU notebooks ask for the resource `gpu`: give `--resources gpu=1` to share one.
import json
import re
import shlex
import sys
from pathlib import Path

from privlib.pipeline.profiles import ProfileError, load_profile
from privlib.report.dependencies import module_closure, notebook_modules

ROOT = Path(workflow.basedir)
PROFILE = str(config.get("profile", "embedded"))
PROFILE_FILE = f"notebooks/profiles/{PROFILE}.yml"
PYTHON = shlex.quote(sys.executable)

try:
    profile = load_profile(ROOT / PROFILE_FILE)
except ProfileError as error:
    raise WorkflowError(str(error))

# <asset>: notebooks/<paper>/<asset>.ipynb; the name is unique over all papers, and so a target of its own.
PATHS = sorted(path.relative_to(ROOT) for path in ROOT.glob("notebooks/*/*.ipynb"))
NOTEBOOKS = {path.stem: path for path in PATHS}
EXECUTED = {asset: f"_build/executed/{PROFILE}/{path.relative_to('notebooks')}" for asset, path in NOTEBOOKS.items()}
RESULTS = {asset: f"_build/results/{PROFILE}/{asset}.json" for asset in NOTEBOOKS}

if len(NOTEBOOKS) < len(PATHS):
    raise WorkflowError("two notebooks under notebooks/ share a name; targets and results go by it, so rename one")
if unknown := sorted(set(profile.assets) - set(NOTEBOOKS)):
    raise WorkflowError(f"{PROFILE_FILE}: no notebook is named {', '.join(unknown)}")


def sources(*patterns):
    """Files in the checkout that match, relative to it."""
    found = (path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    return sorted(str(path.relative_to(ROOT)) for path in found)


# Bundled files behind the module that reads them; a notebook that can reach the module depends on the files.
ASSETS = {
    "privlib/data/emoji.py": sources("privlib/assets/emoji/*"),
    "privlib/data/icons.py": sources("privlib/assets/icons/*"),
    "privlib/metrics/icon_text.py": sources("privlib/assets/clip/*"),
    "privlib/denoisers/checkpoints.py": sources("privlib/assets/denoisers/*"),
    "privlib/denoisers/text_to_image.py": sources("privlib/assets/text_to_image/**/*"),
}


def assets_of(modules):
    """Bundled data and weights that these modules may read."""
    return [file for module in modules for file in ASSETS.get(module, [])]


def named_in(notebook, *patterns):
    """Ledger files or bundles of the notebook itself and of every other asset that its text names."""
    words = {notebook.stem, *re.findall(r"\w+", (ROOT / notebook).read_text(encoding="utf-8"))}
    return [file for file in sources(*patterns) if Path(file).stem in words]


def modules(*names):
    """Files of privlib modules and of all that they import: what a step of the pipeline depends on."""
    return [str(path.relative_to(ROOT)) for path in module_closure(names, ROOT)]


def given(part):
    """Parameters of a part as arguments of privlib.pipeline.run."""
    return " ".join(f"-p {name} {shlex.quote(repr(value))}" for name, value in part.items())


localrules: book, check


rule book:
    input:
        "_build/html/index.html",
    default_target: True


for asset, notebook in NOTEBOOKS.items():
    used = [str(path.relative_to(ROOT)) for path in notebook_modules(ROOT / notebook, ROOT)]
    done = []  # results of the parts that the profile takes this notebook apart into

    for number, part in enumerate(profile.settings(asset).parts()):
        done.append(f"_build/parts/{PROFILE}/{asset}/{number}.json")

        rule:
            name: f"{asset}_{number}"
            input:
                notebook=str(notebook),
                modules=used,
                assets=assets_of(used),
                lock="requirements.lock",
            output:
                notebook=f"_build/parts/{PROFILE}/{asset}/{number}/{asset}.ipynb",
                results=done[-1],
            params:
                profile=PROFILE_FILE,
                part=given(part),
                parameters=json.dumps([profile.tier, profile.settings(asset).parameters], sort_keys=True),
            threads: profile.settings(asset).threads
            resources:
                gpu=profile.settings(asset).gpu,
            shell:
                PYTHON + " -m privlib.pipeline.run {input.notebook:q} {output.notebook:q} --results {output.results:q}"
                " --profile {params.profile:q} --threads {threads} {params.part}"

    rule:
        name: asset
        input:
            notebook=str(notebook),
            modules=used,
            assets=assets_of(used),
            claims=named_in(notebook, "book/claims/*.yml"),
            bundles=named_in(notebook, "book/results/*/*.json"),
            parts=done,
            lock="requirements.lock",
        output:
            notebook=EXECUTED[asset],
            results=RESULTS[asset],
        params:
            profile=PROFILE_FILE,
            # Not in the command, but recorded with the output: other assets' parameters may change without effect here.
            parameters=json.dumps([profile.tier, profile.settings(asset).parameters], sort_keys=True),
        threads: profile.settings(asset).threads
        resources:
            gpu=profile.settings(asset).gpu,
        shell:
            PYTHON + " -m privlib.pipeline.run {input.notebook:q} {output.notebook:q} --results {output.results:q}"
            " --profile {params.profile:q} --threads {threads}"


# No output: it looks at the results each time it is asked for.
rule check:
    input:
        list(RESULTS.values()),
    shell:
        PYTHON + " -m privlib.pipeline.moved {input:q}"
        # The texts of the page of verdicts are written for the scale that the book is published at.
        + (" && " + PYTHON + " -m privlib.pipeline.what_holds --results {input:q}" if PROFILE == "embedded" else "")


rule status:
    input:
        results=list(RESULTS.values()),
        notebooks=list(EXECUTED.values()),
        claims=sources("book/claims/*.yml"),
        modules=modules("privlib.pipeline.status"),
    output:
        "_build/status.md",
    shell:
        PYTHON + " -m privlib.pipeline.status {output:q} --results {input.results:q} --notebooks {input.notebooks:q}"


rule what_holds:
    input:
        results=list(RESULTS.values()),
        points="book/what_holds.yml",
        claims=sources("book/claims/*.yml"),
        bundles=sources("book/results/*/*.json"),
        notebooks=[str(path) for path in PATHS],  # a bundle is compared with the code of its notebook
        modules=modules("privlib.pipeline.what_holds"),
    output:
        "_build/what_holds.md",
    shell:
        PYTHON + " -m privlib.pipeline.what_holds {output:q} --results {input.results:q}"


rule explorer_grid:
    input:
        modules=modules("privlib.pipeline.explorer_grid"),
        lock="requirements.lock",
    output:
        "_build/explorer/grid.json",
    priority: 1  # the longest single job, and nothing but the last step waits for it
    shell:
        PYTHON + " -m privlib.pipeline.explorer_grid {output:q}"


rule stage:
    input:
        book=sources("_config.yml", "_toc.yml", "book/**/*"),
        notebooks=list(EXECUTED.values()),
        pages=["_build/status.md", "_build/what_holds.md"],
        grid="_build/explorer/grid.json",
        modules=modules("privlib.pipeline.stage"),
    output:
        update("_build/site/_toc.yml"),
    params:
        executed=f"_build/executed/{PROFILE}",
    shell:
        PYTHON + " -m privlib.pipeline.stage _build/site --executed {params.executed:q} --pages {input.pages:q}"
        " --grid {input.grid:q} --notebooks {input.notebooks:q}"


rule html:
    input:
        toc="_build/site/_toc.yml",
        lock="requirements.lock",
        modules=modules("privlib.pipeline.site"),
    output:
        update("_build/html/index.html"),
    shell:
        PYTHON + " -m privlib.pipeline.site _build/site _build/html"
