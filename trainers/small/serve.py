"""Serves a student over HTTP as OpenAI's chat completions, many conversations at once.

    python trainers/small/serve.py STUDENT --port 8000 --slots 64

Each slot keeps the keys and values of one conversation, so that a later turn only reads what is new. For one machine and models of
up to 100 million parameters; larger ones belong on vLLM. Listens on loopback only.
"""

import argparse
import functools
import json
import os
import queue
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
import torch.nn.functional as F

from train import START, TURN_END, load


# Far more than any context holds.
MOST_BYTES = 32_000_000


class Request:
    def __init__(self, ids, most, temperature):
        self.ids, self.most, self.temperature = ids, most, temperature
        self.out, self.reason, self.done = [], None, threading.Event()


class Slot:
    def __init__(self):
        self.cached, self.request = [], None


class Engine:
    """One thread runs the model: it accepts waiting requests and gives every running one its next token."""

    def __init__(self, folder, slots, device):
        self.model, self.tokenizer, self.context = load(folder, device)
        self.device = device
        self.dtype = torch.bfloat16 if device == "cuda" else torch.float32
        self.model.to(self.dtype).eval()
        shape = self.model.shape
        # One position more than the context: slots without a request write there.
        size = (shape["layers"], slots, shape["kv_heads"], self.context + 1, shape["head"])
        self.keys = torch.zeros(size, device=device, dtype=self.dtype)
        self.values = torch.zeros(size, device=device, dtype=self.dtype)
        self.slots = [Slot() for _ in range(slots)]
        self.numbers = torch.arange(slots, device=device)
        self.last, self.at = (torch.zeros(slots, dtype=torch.long, device=device) for _ in range(2))
        self.heat = torch.zeros(slots, device=device)
        self.steps = {}
        self.waiting = queue.Queue()
        self.end = self.tokenizer.token_to_id(TURN_END)
        self.encoded = functools.lru_cache(16384)(self.encode)
        threading.Thread(target=self.run_or_exit, daemon=True).start()

    def encode(self, text):
        return tuple(self.tokenizer.encode(text).ids)

    def ask(self, messages, most, temperature):
        start, line = self.tokenizer.token_to_id(START), self.encoded("\n")
        ids = []
        for message in messages:
            ids += [start, *self.encoded(message["role"] + "\n"), *self.encoded(message["content"]), self.end, *line]
        ids += [start, *self.encoded("assistant\n")]
        request = Request(ids, min(most, self.context - len(ids)), temperature)
        if len(ids) >= self.context:
            return request
        self.waiting.put(request)
        request.done.wait()
        return request

    def run_or_exit(self):
        """Without this thread no request would ever be answered, so the server ends with it."""
        try:
            self.run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    @torch.inference_mode()
    def run(self):
        while True:
            running = [slot for slot in self.slots if slot.request]
            try:
                while len(running) < len(self.slots):
                    running.append(self.take_in(self.waiting.get(block=not running)))
            except queue.Empty:
                pass
            self.step([(number, slot) for number, slot in enumerate(self.slots) if slot.request])

    def take_in(self, request):
        """Puts a request into the free slot that already holds its longest prefix, and reads the rest."""
        free = [slot for slot in self.slots if slot.request is None]
        slot = max(free, key=lambda s: (shared(s.cached, request.ids), -len(s.cached)))
        known = min(shared(slot.cached, request.ids), len(request.ids) - 1)
        number = self.slots.index(slot)
        new = torch.tensor(request.ids[known:], device=self.device)[None]
        positions = torch.arange(known, len(request.ids), device=self.device)[None]
        mask = positions[0, :, None] >= torch.arange(len(request.ids), device=self.device)

        def attend(layer, q, k, v):
            self.keys[layer, number, :, known : len(request.ids)] = k[0].transpose(0, 1)
            self.values[layer, number, :, known : len(request.ids)] = v[0].transpose(0, 1)
            keys, values = (t[layer, number : number + 1, :, : len(request.ids)] for t in (self.keys, self.values))
            return F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, mask, enable_gqa=True).transpose(1, 2)

        x = self.model(new, positions, attend)
        slot.cached, slot.request = list(request.ids), request
        self.accept(slot, int(choose(self.model.logits(x[:, -1]), torch.tensor([request.temperature], device=self.device))))
        return slot

    def step(self, running):
        """One more token for every running slot. Computes all slots, so that one recorded graph serves every step."""
        if not running:
            return
        last, at, heat = [0] * len(self.slots), [self.context] * len(self.slots), [0.0] * len(self.slots)
        for number, slot in running:
            last[number], at[number], heat[number] = slot.cached[-1], len(slot.cached) - 1, slot.request.temperature
        self.last.copy_(torch.tensor(last))
        self.at.copy_(torch.tensor(at))
        self.heat.copy_(torch.tensor(heat))
        longest = max(len(slot.cached) for _, slot in running)
        chosen = self.decode(min(-(-longest // 1024) * 1024, self.context)).tolist()
        for number, slot in running:
            self.accept(slot, chosen[number])

    def decode(self, span):
        """Runs the model on one token per slot, each of which sees at most `span` tokens. On a GPU the work is recorded once
        and replayed.
        """
        if self.device != "cuda":
            return self.compute(span)
        if span not in self.steps:
            for _ in range(2):
                self.compute(span)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                chosen = self.compute(span)
            self.steps[span] = graph, chosen
        graph, chosen = self.steps[span]
        graph.replay()
        return chosen

    def compute(self, span):
        hidden = torch.arange(span, device=self.device) > self.at[:, None]

        def attend(layer, q, k, v):
            self.keys[layer, self.numbers, :, self.at] = k[:, 0]
            self.values[layer, self.numbers, :, self.at] = v[:, 0]
            keys, values = self.keys[layer, :, :, :span], self.values[layer, :, :, :span]
            grouped = q[:, 0].unflatten(1, (keys.shape[1], -1))
            scores = (grouped @ keys.transpose(-1, -2)).float() * keys.shape[-1] ** -0.5
            weights = scores.masked_fill(hidden[:, None, None], -torch.inf).softmax(-1).to(values.dtype)
            return (weights @ values).flatten(1, 2)[:, None]

        x = self.model(self.last[:, None], self.at[:, None], attend)
        return choose(self.model.logits(x[:, 0]), self.heat)

    def accept(self, slot, token):
        request = slot.request
        if token == self.end:
            request.reason = "stop"
        else:
            request.out.append(token)
            slot.cached.append(token)
            if len(request.out) >= request.most:
                request.reason = "length"
        if request.reason:
            # The model never read the last token.
            slot.cached = slot.cached[:-1] if request.reason == "length" else slot.cached
            slot.request = None
            request.done.set()


def choose(logits, heat):
    """A token for each row: the most likely at temperature 0, otherwise sampled."""
    noise = -torch.empty_like(logits, dtype=torch.float32).exponential_().log()
    heat = heat[:, None]
    return torch.where(heat > 0, logits.float() / heat.clamp(min=1e-4) + noise, logits.float()).argmax(-1)


def shared(a, b):
    """The length of the common prefix of two lists."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = name = longest = None

    def do_GET(self):
        if self.path == "/v1/models":
            one = {"id": self.name, "object": "model", "created": 0, "owned_by": "local", "max_model_len": self.engine.context}
            return self.reply(200, {"object": "list", "data": [one]})
        if self.path in ("/health", "/v1/health"):
            return self.reply(200, {"status": "ok"})
        return self.fail(404, "no such page")

    def do_POST(self):
        length = self.headers.get("content-length", "0")
        # int refuses thousands of digits.
        if not length.isdecimal() or len(length) > 20 or int(length) > MOST_BYTES:
            self.close_connection = True  # What follows is the body, not the next request.
            return self.fail(413, f"expected a content-length of at most {MOST_BYTES}, got {length[:40]}")
        try:
            body = json.loads(self.rfile.read(int(length)))
            messages = [{"role": mended(m["role"]), "content": content_of(m)} for m in body["messages"]]
            most = int(body.get("max_completion_tokens") or body.get("max_tokens") or self.longest)
            temperature = 0.7 if body.get("temperature") is None else float(body["temperature"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            return self.fail(400, f"not a chat request: {error}")
        if self.path != "/v1/chat/completions":
            return self.fail(404, "no such page")
        if body.get("stream"):
            return self.fail(400, "this server does not stream")
        request = self.engine.ask(messages, most, temperature)
        if request.reason is None:
            message = f"this model's maximum context length is {self.engine.context} tokens; the messages have {len(request.ids)}"
            return self.fail(400, message, "context_length_exceeded")
        text = self.engine.tokenizer.decode(request.out, skip_special_tokens=False)
        used = {"prompt_tokens": len(request.ids), "completion_tokens": len(request.out) + (request.reason == "stop")}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": request.reason}
        used["total_tokens"] = sum(used.values())
        self.reply(200, {"id": "chat", "object": "chat.completion", "created": int(time.time()), "model": self.name, "choices": [choice], "usage": used})

    def fail(self, status, message, code=None):
        self.reply(status, {"error": {"message": message, "type": "invalid_request_error", "code": code}})

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def content_of(message):
    content = message.get("content") or ""
    return mended(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))


def mended(text):
    """Half a character, which JSON can carry and a tokenizer refuses, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def main():
    flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    flags.add_argument("student")
    flags.add_argument("--port", type=int, default=8000)
    flags.add_argument("--name", default="student")
    flags.add_argument("--slots", type=int, default=64)
    flags.add_argument("--longest", type=int, default=2048, help="most tokens of a reply when the request names no limit")
    flags.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = flags.parse_args()
    sys.setswitchinterval(0.0005)
    Handler.engine, Handler.name, Handler.longest = Engine(options.student, options.slots, options.device), options.name, options.longest
    server = Server(("127.0.0.1", options.port), Handler)
    print(f"serving {options.name} on http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
