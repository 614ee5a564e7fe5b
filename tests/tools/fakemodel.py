#!/usr/bin/env python3
"""A scripted model on loopback, so that real coding agents can be tested without a network, an account or a model.

    fakemodel.py SCRIPT.json RECORD.jsonl

Prints its port, answers until its standard input closes, and appends every request to RECORD. Speaks the Anthropic
Messages, OpenAI Responses and Chat Completions and Gemini APIs, streaming or not. SCRIPT is a list of steps; the n-th
request that offers tools gets the n-th step (the last one repeats), every other request gets a plain "ok",
or the smallest object that fits the schema that it asks for.

SCRIPT may also be a list of rules, [{"when": {...}, "do": [step, ...]}, ...], for runs with several workers. A request
gets the step of the first rule that matches it whose number is that of the answers that the conversation already holds,
so a request that is tried again gets the same step again. The last one repeats; a repeated report is said as text.
`when` may name `role` and `round` (as Fix Loop's briefs tell them), `says` and `lacks` (text, or a list of texts, that
stand in what the user said). A request that no rule matches is refused and recorded with `"rule": null`.

With FAKEMODEL_WATCH=FILE each record holds the peak memory of the process whose id stands in FILE and of all that it
started; the first request waits until the file is there. Steps:

    {"read": PATH}  {"edit": PATH, "old": TEXT, "new": TEXT}  {"write": PATH, "text": TEXT}  {"shell": COMMAND}
    {"report": OBJECT}     through the agent's structured-output tool where it offers one, else as text
    {"say": TEXT}          {"http": STATUS}  {"garbage": true}  {"cut": true}  {"hang": true}

Paths are absolute, or relative to the workspace of the brief. `$HEAD` in a report is the commit that is checked out
there. A tool that the request does not offer is asked for all the same: an agent must survive that.
"""
import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPT = json.load(open(sys.argv[1]))
RECORD = sys.argv[2]
LOCK = threading.Lock()
TURN = 0
WATCH = os.environ.get("FAKEMODEL_WATCH")

# How the brief of each role begins.
OPENINGS = {
    "fixer": "You fix review findings", "verifier": "You verify fixes", "reviewer": "You review the work",
    "checker": "You check review findings", "closer": "You decide which root causes are closed",
    "recoverer": "You recover a fix", "diagnoser": "You diagnose why", "final_gate": "You are the final gate",
}


def texts(value):
    """Every string in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)


def conversation(api, body):
    """What the user said so far, and how many answers there were."""
    if api == "responses":
        items = body.get("input") or []
        items = items if isinstance(items, list) else [{"role": "user", "content": items}]
        answers = sum(1 for one in items if one.get("role") == "assistant" or str(one.get("type")).endswith("_call"))
    else:
        items = body.get("contents" if api == "gemini" else "messages") or []
        answers = sum(1 for one in items if one.get("role") in ("assistant", "model"))
    said = [one for one in items if one.get("role") == "user"]
    return "\n".join(texts([one.get("content", one.get("parts")) for one in said])), answers


def told(said):
    """Role, round and workspace of the brief in what the user said."""
    role = next((role for role, opening in OPENINGS.items() if opening in said), None)
    round = re.search(r"This is round (\d+)", said)
    place = re.search(r"in the (?:repository|worktree)\s+at\s+(\S+?)[.,;]?\s", said)
    return role, int(round[1]) if round else None, place[1] if place else None


def matching(said, role, round):
    """The number of the first rule that matches."""
    def all_of(wanted):
        return [wanted] if isinstance(wanted, str) else wanted
    for number, rule in enumerate(SCRIPT):
        when = rule.get("when", {})
        if (when.get("role", role) == role and when.get("round", round) == round
                and all(text in said for text in all_of(when.get("says", [])))
                and not any(text in said for text in all_of(when.get("lacks", [])))):
            return number
    return None


def by_rule(rule, answers, workspace):
    """The step, with its paths and revisions as they are in the workspace."""
    steps = rule["do"]
    step = dict(steps[min(answers, len(steps) - 1)])
    for key in ("read", "edit", "write"):
        if key in step and workspace:
            step[key] = os.path.join(workspace, step[key])
    if "report" in step:
        text = json.dumps(step["report"])
        if "$HEAD" in text:
            head = subprocess.run(["git", "-C", workspace, "rev-parse", "HEAD"], capture_output=True, text=True)
            text = text.replace("$HEAD", head.stdout.strip())
        step["report"] = json.loads(text)
        if answers >= len(steps):
            step = {"say": text}
    return step


def smallest(schema):
    """Something that fits a JSON Schema."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        wanted = schema.get("required") or []
        return {name: smallest(one) for name, one in (schema.get("properties") or {}).items() if name in wanted}
    return {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False, "array": []}.get(kind, "ok")


def memory():
    """Peak memory in KiB: of the watched process, and of all that it started in sum."""
    while not os.path.exists(WATCH):
        time.sleep(0.01)
    watched = int(open(WATCH).read())
    parents, peaks = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = dict(line.split(":", 1) for line in open("/proc/%s/status" % pid) if ":" in line)
            parents[int(pid)], peaks[int(pid)] = int(status["PPid"]), int(status.get("VmHWM", "0 kB").split()[0])
        except (OSError, ValueError, KeyError):
            continue
    started, ring = set(), {watched}
    while ring:
        ring = {pid for pid, parent in parents.items() if parent in ring} - started
        started |= ring
    return {"fix_loop": peaks.get(watched, 0), "started": sum(peaks.get(pid, 0) for pid in started)}


def offered(api, body):
    """The tools of a request: name -> names of their parameters, or None for a free-form one."""
    tools = {}
    for tool in body.get("tools") or []:
        if api == "gemini":
            for function in tool.get("functionDeclarations") or []:
                schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
                tools[function["name"]] = schema.get("properties") or {}
        elif api == "chat":
            function = tool.get("function") or {}
            tools[function.get("name")] = (function.get("parameters") or {}).get("properties") or {}
        elif api == "responses":
            for one in tool.get("tools", []) if tool.get("type") == "namespace" else [tool]:
                free = one.get("type") == "custom"
                tools[one.get("name") or one.get("type")] = None if free else (one.get("parameters") or {}).get("properties") or {}
        else:
            tools[tool.get("name")] = (tool.get("input_schema") or {}).get("properties") or {}
    return tools


def first(tools, *names):
    return next((name for name in names if name in tools), None)


def call(tools, name, **values):
    """A call with each value under the first of its possible names that the tool takes."""
    known = tools.get(name) or {}
    arguments = {}
    for names, value in values.values():
        arguments[next((one for one in names if one in known), names[0])] = value
    for filler in ("description", "instruction"):
        if filler in known:
            arguments[filler] = "scripted"
    return "tool", name, arguments


PATH = ["file_path", "filePath", "absolute_path", "path"]


def shell(tools, command):
    name = first(tools, "Bash", "bash", "run_shell_command", "shell_command", "exec_command", "shell") or "Bash"
    known = tools.get(name) or {}
    if name == "exec_command":
        return "tool", name, {"cmd": command}
    if (known.get("command") or {}).get("type") == "array":
        return "tool", name, {"command": ["bash", "-c", command]}
    arguments = {"command": command}
    if "description" in known:
        arguments["description"] = "scripted"
    if "is_background" in known:
        arguments["is_background"] = False
    return "tool", name, arguments


def act(step, tools):
    if "say" in step:
        return "text", None, step["say"]
    if "report" in step:
        name = first(tools, "StructuredOutput", "structured_output")
        return ("tool", name, step["report"]) if name else ("text", None, json.dumps(step["report"]))
    if "shell" in step:
        return shell(tools, step["shell"])
    if "read" in step:
        name = first(tools, "Read", "read", "read_file")
        return call(tools, name, path=(PATH, step["read"])) if name else shell(tools, "cat " + step["read"])
    if "edit" in step:
        name = first(tools, "Edit", "edit", "replace") or (None if first(tools, "apply_patch", "exec_command", "shell_command", "shell") else "Edit")
        if name:
            return call(tools, name, path=(PATH, step["edit"]), old=(["old_string", "oldString"], step["old"]),
                        new=(["new_string", "newString"], step["new"]))
        if "apply_patch" in tools and tools["apply_patch"] is None:
            lines = ["-" + line for line in step["old"].split("\n")] + ["+" + line for line in step["new"].split("\n")]
            patch = "\n".join(["*** Begin Patch", "*** Update File: " + step["edit"], "@@", *lines, "*** End Patch"])
            return "free", "apply_patch", patch
        code = "p=%r;s=open(p).read().replace(%r,%r);open(p,'w').write(s)" % (step["edit"], step["old"], step["new"])
        return shell(tools, "python3 - <<'END'\n" + code + "\nEND")
    if "write" in step:
        name = first(tools, "Write", "write", "write_file") or (None if first(tools, "exec_command", "shell_command", "shell") else "Write")
        if name:
            return call(tools, name, path=(PATH, step["write"]), text=(["content", "contents"], step["text"]))
        return shell(tools, "cat > %s <<'END'\n%s\nEND" % (step["write"], step["text"]))
    raise ValueError(step)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.reply(200, {})

    def do_GET(self):
        if "/models" in self.path:
            model = {"id": "fake", "object": "model", "type": "model", "display_name": "fake", "created": 1}
            return self.reply(200, {"object": "list", "data": [model], "models": []})
        self.reply(404, {"error": {"type": "not_found_error", "message": self.path}})

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            import gzip
            raw = gzip.decompress(raw)
        return raw.decode("utf-8", "replace")

    def do_POST(self):
        global TURN
        text = self.body()
        path = self.path.split("?")[0]
        api = ("anthropic" if path.endswith("/messages") else "responses" if path.endswith("/responses") else
               "chat" if path.endswith("/chat/completions") else "gemini" if "enerateContent" in path else None)
        try:
            body = json.loads(text or "{}")
        except ValueError:
            body = {}
        tools = offered(api, body)
        with LOCK:
            settings = body.get("generationConfig") or {}
            schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
            step = {"say": json.dumps(smallest(schema)) if schema else "ok"}
            entry = {"path": self.path, "tools": sorted(tools), "agent": self.headers.get("user-agent"),
                     "at": int(time.time() * 1000), "body": body}
            if WATCH:
                entry["memory"] = memory()
            if api and tools and SCRIPT and "do" in SCRIPT[0]:
                said, answers = conversation(api, body)
                role, round, workspace = told(said)
                number = matching(said, role, round)
                entry.update(role=role, round=round, rule=number, answers=answers, said=said)
                step = {"http": 400} if number is None else by_rule(SCRIPT[number], answers, workspace)
            elif api and tools:
                step = SCRIPT[min(TURN, len(SCRIPT) - 1)]
                TURN += 1
            with open(RECORD, "a") as record:
                record.write(json.dumps(entry) + "\n")
        if api is None:
            if "count" in path:
                return self.reply(200, {"input_tokens": 100, "totalTokens": 100})
            return self.reply(404, {"error": {"type": "not_found_error", "message": path}})
        if "http" in step:
            status = step["http"]
            kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
            return self.reply(status, {"type": "error", "error": {"type": kind, "code": status, "message": "scripted error %d" % status}})
        if "garbage" in step:
            return self.reply(200, b"<html>not json {{{")
        if "hang" in step:
            threading.Event().wait()
        cut = "cut" in step
        action = ("text", None, "an unfinished ans") if cut else act(step, tools)
        streaming = bool(body.get("stream")) or "streamGenerateContent" in path
        if cut and not streaming:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "4096")
            self.end_headers()
            self.wfile.write(b'{"id": "un')
            self.close_connection = True
            return
        try:
            getattr(self, "speak_" + api)(action, streaming, body, cut)
        except (BrokenPipeError, ConnectionResetError):
            pass
        if cut:
            self.close_connection = True

    def stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def speak_anthropic(self, action, streaming, body, cut):
        kind, name, value = action
        usage = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        if kind == "text":
            block, stop = {"type": "text", "text": value}, "end_turn"
        else:
            block, stop = {"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:20], "name": name, "input": value}, "tool_use"
        message = {"id": "msg_" + uuid.uuid4().hex[:20], "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
        if not streaming:
            return self.reply(200, message)
        self.stream()

        def event(kind, **data):
            self.chunk("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **data})))

        event("message_start", message={**message, "content": [], "stop_reason": None})
        if block["type"] == "text":
            event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": value})
        else:
            event("content_block_start", index=0, content_block={**block, "input": {}})
            event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(value)})
        if cut:
            return
        event("content_block_stop", index=0)
        event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
        event("message_stop")
        self.end()

    def speak_responses(self, action, streaming, body, cut):
        kind, name, value = action
        ids = {"call_id": "call_" + uuid.uuid4().hex[:12], "status": "completed"}
        if kind == "text":
            item = {"type": "message", "id": "msg_" + uuid.uuid4().hex[:12], "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": value, "annotations": []}]}
        elif kind == "free":
            item = {"type": "custom_tool_call", "id": "ctc_" + uuid.uuid4().hex[:12], "name": name, "input": value, **ids}
        else:
            item = {"type": "function_call", "id": "fc_" + uuid.uuid4().hex[:12], "name": name, "arguments": json.dumps(value), **ids}
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120}
        response = {"id": "resp_" + uuid.uuid4().hex[:16], "object": "response", "created_at": 1, "model": body.get("model"),
                    "status": "completed", "output": [item], "usage": usage}
        if not streaming:
            return self.reply(200, response)
        self.stream()
        number = 0

        def event(kind, **data):
            nonlocal number
            self.chunk("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, "sequence_number": number, **data})))
            number += 1

        event("response.created", response={**response, "status": "in_progress", "output": [], "usage": None})
        event("response.output_item.added", output_index=0, item={**item, "status": "in_progress"})
        if item["type"] == "message":
            event("response.output_text.delta", output_index=0, content_index=0, item_id=item["id"], delta=value)
            if cut:
                return
        event("response.output_item.done", output_index=0, item=item)
        event("response.completed", response=response)
        self.end()

    def speak_chat(self, action, streaming, body, cut):
        kind, name, value = action
        base = {"id": "chatcmpl-" + uuid.uuid4().hex[:16], "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        if kind == "text":
            message, stop = {"role": "assistant", "content": value}, "stop"
        else:
            function = {"name": name, "arguments": json.dumps(value)}
            message = {"role": "assistant", "content": None,
                       "tool_calls": [{"id": "call_" + uuid.uuid4().hex[:12], "type": "function", "function": function}]}
            stop = "tool_calls"
        if not streaming:
            choice = {"index": 0, "message": message, "finish_reason": stop}
            return self.reply(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        self.stream()

        def event(choices, **more):
            self.chunk("data: " + json.dumps({**base, "object": "chat.completion.chunk", "choices": choices, **more}) + "\n\n")

        delta = {"content": value} if kind == "text" else {"tool_calls": [{"index": 0, **message["tool_calls"][0]}]}
        event([{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}])
        if cut:
            return
        event([{"index": 0, "delta": {}, "finish_reason": stop}])
        event([], usage=usage)
        self.chunk("data: [DONE]\n\n")
        self.end()

    def speak_gemini(self, action, streaming, body, cut):
        kind, name, value = action
        part = {"text": value} if kind == "text" else {"functionCall": {"name": name, "args": value}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        answer = {"candidates": [candidate], "modelVersion": "fake", "responseId": uuid.uuid4().hex[:12],
                  "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}}
        if not streaming:
            return self.reply(200, answer)
        if cut:
            del candidate["finishReason"]
        self.stream()
        self.chunk("data: " + json.dumps(answer) + "\r\n\r\n")
        if not cut:
            self.end()


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
