"""One model shared out between two processes decodes what it decodes alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.models import load, resolve
from tests.models import random_prompt, save_chat_model

PROGRAM = """
import json, sys
from pathlib import Path
import torch
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.models import load, resolve

torch.set_num_threads(1)
folder, out, prompt = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
loaded = load(resolve(folder), device="cpu", tensor_parallel=True)
result = SparseSpecDecoder(loaded.model, DecodeConfig(k=4)).decode(prompt, max_new_tokens=24)
rank = torch.distributed.get_rank()
heads = loaded.model.model.layers[0].self_attn.q_proj.weight.to_local().shape[0]
found = {"tokens": result.token_ids, "drafted": result.stats.drafted, "rows": heads}
(out / f"{rank}.json").write_text(json.dumps(found))
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_decode_as_one(tmp_path):
    folder = save_chat_model(tmp_path / "model")
    prompt = random_prompt(150)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [*command, str(tmp_path / "program.py"), str(folder), str(tmp_path), json.dumps(prompt)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": root}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert first == second
    assert first["rows"] == 6 * 8 / 2
    assert first["drafted"] > 0
    alone = load(resolve(str(folder)), device="cpu")
    expected = SparseSpecDecoder(alone.model, DecodeConfig(speculation=False)).decode(prompt, max_new_tokens=24)
    assert first["tokens"] == expected.token_ids
