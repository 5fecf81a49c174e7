"""The script of pages is made once and kept."""

import vl_convert

from howsure.report import page


def test_the_script_is_made_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "cache"))
    page._bundle.cache_clear()
    made = page._bundle()
    assert "</script" not in made
    (kept,) = (tmp_path / "cache" / "pages").iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(vl_convert, "javascript_bundle", None)  # cannot be called
        page._bundle.cache_clear()
        assert page._bundle() == made
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: made)  # the same, sooner
    kept.write_bytes(b"\xff not text")
    page._bundle.cache_clear()
    assert page._bundle() == made == kept.read_text(encoding="utf-8")
    (tmp_path / "file").write_text("no folder can be made here")
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "file"))
    page._bundle.cache_clear()
    assert page._bundle() == made
