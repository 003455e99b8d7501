"""What is measured of the speed of bfenv; not how fast it is."""

from bfenv.bench import speed

LINE = "{} 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"


def test_reading_is_timed_for_the_logs_at_hand_only(tmp_path, monkeypatch):
    name = speed.LOGS[1]
    log = "; MaxProcs: 4\n" + "".join(LINE.format(i) for i in range(7))
    (tmp_path / f"{name}.swf").write_text(log)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    (row,) = speed.reading(3)
    assert (row["what"], row["jobs"], row["unit"]) == (f"read {name}", 7, "s")
    assert 0 < row["best"] <= row["median"]
