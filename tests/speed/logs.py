"""A log to measure."""

LINE = "{} 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"


def write_log(name, tmp_path, monkeypatch):
    """Make one log available, of seven jobs, and no other."""
    log = "; MaxProcs: 4\n" + "".join(LINE.format(i) for i in range(7))
    (tmp_path / f"{name}.swf").write_text(log)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
