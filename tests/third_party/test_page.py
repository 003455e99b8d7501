"""The scripts of the page on other libraries run, each where its library is installed."""

import re
from pathlib import Path
from pydoc import locate

import pytest
import yaml

from bfenv.envs.sb3 import BackfillVecEnv
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("compiled_environments"),
    pytest.mark.filterwarnings("ignore"),  # theirs
]
PAGE = (ROOT / "docs" / "third_party.md").read_text()
ZOO = ROOT / "docs" / "how_to" / "maskable_ppo.yml"
SCRIPTS = dict(re.findall(r"^```python\n# (\w+)\n(.*?)^```", PAGE, re.M | re.S))
CHECKS = {  # by library: what holds for the names of its script
    "gymnasium": lambda names: (names["infos"]["illegal_actions"] == 0).all(),
    "stable_baselines3": lambda names: [m.num_timesteps for m in names["models"]] == [128] * 3,
    "sb3_contrib": lambda names: names["model"].num_timesteps == 256,
    "rl_zoo3": lambda names: list(Path("logs/maskable_ppo").rglob("Backfill-v0.zip")),
    "torch": lambda names: (names["infos"]["illegal_actions"] == 0).all(),
    "ray": lambda names: (
        names["result"]["env_runners"]["num_env_steps_sampled"] == 256 and names["illegal"] == 0
    ),
    "torchrl": lambda names: names["legal"].all() and len(names["played"]) > 10,
    "skrl": lambda names: names["agent"].memory.get_tensor_by_name("rewards").shape == (16, 4, 1),
    "minari": lambda names: (
        len(names["dataset"]) == 10 and names["legal"].all() and names["agreement"] > 0.5
    ),
    "tianshou": lambda names: names["stats"].n_collected_steps >= 150 and names["illegal"] == 0,
}


def test_checks():
    """Each script is one of a library that is checked below."""
    assert set(SCRIPTS) == set(CHECKS)
    assert len(SCRIPTS) == PAGE.count("```python")


@pytest.mark.parametrize("library", CHECKS)
def test_script(library, tmp_path, monkeypatch):
    """The script runs to its end, and did what it shows."""
    pytest.importorskip(library, reason=f"needs {library}, see docs/third_party.md")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", "")  # which the script changes
    monkeypatch.setattr("sys.argv", ["script"])  # so does another
    Path("maskable_ppo.yml").write_bytes(ZOO.read_bytes())
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")  # reports to nobody
    names = {"__name__": "__main__"}
    exec(compile(SCRIPTS[library], f"{library}.py", "exec"), names)
    assert CHECKS[library](names)


def test_hyperparameters():
    """MaskablePPO and the environment take what the file for RL Zoo names."""
    sb3 = pytest.importorskip("sb3_contrib")
    values = yaml.safe_load(ZOO.read_text())["Backfill-v0"]
    envs, policy = BackfillVecEnv(2, **values.pop("env_kwargs")), locate(values.pop("policy"))
    assert values.pop("n_timesteps") % (values.pop("n_envs") * values["n_steps"]) == 0
    assert values.pop("learning_rate") == "lin_3e-3"  # which RL Zoo reads
    values["policy_kwargs"] = eval(values["policy_kwargs"])
    assert sb3.MaskablePPO(policy, envs, device="cpu", **values).n_steps == 128
