"""The checksum of the code: what computes counts, what explains does not."""

import pytest

from privlib import source
from privlib.source import code_checksum


@pytest.fixture
def checksum(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    (tmp_path / "part").mkdir()

    def of(*parts: str, **modules: str) -> str:
        for name, text in modules.items():
            (tmp_path / "part" / f"{name}.py").write_text(text)
        code_checksum.cache_clear()
        return code_checksum(*parts)

    yield of
    code_checksum.cache_clear()


def test_the_code_counts_and_the_remarks_do_not(checksum) -> None:
    first = checksum("part", a='"""Doc."""\ndef f(x):\n    """Twice."""\n    return 2 * x\n')
    assert len(first) == 64
    assert checksum("part", a='"""Other."""\n\n# Remark.\ndef f(x):\n    """Double."""\n    return (2 * x)\n') == first
    assert checksum("part", a='"""Doc."""\ndef f(x):\n    """Twice."""\n    return 3 * x\n') != first
    assert checksum("part", a='"""Doc."""\ndef f(x):\n    """Twice."""\n    return 2 * x\n', b="") != first


def test_a_single_module_can_be_named(checksum) -> None:
    first = checksum("part/a.py", a="x = 1", b="y = 1")
    assert checksum("part/a.py", b="y = 2") == first
    assert checksum("part/a.py", a="x = 2") != first
