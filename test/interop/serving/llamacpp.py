"""Serves a GGUF file with llama.cpp's own HTTP server until it is ended: llamacpp.py FILE NAME PORT CONTEXT LONGEST_REPLY"""

import signal
import sys

from xllamacpp import CommonParams, Server

file, name, port, context, predict = sys.argv[1:]
params = CommonParams()
params.model.path = file
params.model_alias = {name}
params.n_ctx = int(context)
params.n_parallel = 1
params.n_predict = int(predict)
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.use_jinja = True
params.cpuparams.n_threads = 1
server = Server(params)
print("listening", flush=True)
signal.pause()
