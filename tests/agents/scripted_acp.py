#!/usr/bin/env python3
"""An agent that speaks the Agent Client Protocol, version 1, and follows a recipe: scripted_acp.py RECIPE_FILE LOG_FOLDER.

Recipe: [{"when": {"role", "says", "lacks"}, "do": [step, ...]}, ...]. The first rule that fits the prompt is followed;
`says` and `lacks` are text that stands, or does not stand, in the prompt. What the client answers is appended to
LOG/answers.jsonl, one step a line. Steps:
  {"read": file}                through the client
  {"replace": [file, old, new]} read and written through the client
  {"write": [file, text]}       through the client
  {"disk": [file, text]}        straight to the disk, as most agents do it
  {"may": [kind, file]}         ask for permission
  {"report": object}            the report, in two pieces
"""
import json
import os
import sys

OPENINGS = {"fixer": "You fix review findings", "verifier": "You verify fixes"}
RULES = json.load(open(sys.argv[1]))
LOG = os.path.join(sys.argv[2], "answers.jsonl")
serial = 0
os.makedirs(sys.argv[2], exist_ok=True)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, **params):
    """The client's result, or its error as text."""
    global serial
    serial += 1
    send({"id": serial, "method": method, "params": {"sessionId": "s1", **params}})
    while True:
        message = receive()
        if message.get("id") == serial and "method" not in message:
            return message.get("result"), json.dumps(message["error"]) if "error" in message else None


def update(what, **fields):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": what, **fields}}})


def carry_out(step, cwd):
    name, value = next(iter(step.items()))
    file = os.path.join(cwd, value if name == "read" else value[0]) if name not in ("may", "report") else None
    if name == "read":
        result, error = ask("fs/read_text_file", path=file)
        return {"text": result and result["content"], "error": error}
    if name == "replace":
        result, error = ask("fs/read_text_file", path=file)
        if error:
            return {"error": error}
        assert value[1] in result["content"], result["content"]
        _, error = ask("fs/write_text_file", path=file, content=result["content"].replace(value[1], value[2]))
        return {"text": result["content"], "error": error}
    if name == "write":
        return {"error": ask("fs/write_text_file", path=file, content=value[1])[1]}
    if name == "disk":
        with open(file, "w") as out:
            out.write(value[1])
        return {}
    if name == "may":
        kinds = {"yes": "allow_once", "no": "reject_once"}
        options = [{"optionId": one, "name": one, "kind": kind} for one, kind in kinds.items()]
        call = {"toolCallId": "t1", "kind": value[0], "title": value[0], "locations": [{"path": os.path.join(cwd, value[1])}]}
        result, error = ask("session/request_permission", toolCall=call, options=options)
        return {"text": result and result["outcome"].get("optionId"), "error": error}
    text = json.dumps(value)
    for piece in (text[: len(text) // 2], text[len(text) // 2:]):
        update("agent_message_chunk", content={"type": "text", "text": piece})
    return {}


def follow(prompt, cwd):
    role = next((role for role, opening in OPENINGS.items() if opening in prompt), None)
    for rule in RULES:
        when = rule.get("when", {})
        if when.get("role", role) == role and when.get("says", "") in prompt and not (when.get("lacks") or "\0") in prompt:
            for step in rule["do"]:
                said = carry_out(step, cwd)
                with open(LOG, "a") as log:
                    log.write(json.dumps({"step": step, **said}) + "\n")
            return
    sys.exit("no rule for: " + prompt)


while True:
    message = receive()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
    elif method == "session/new":
        folder = message["params"]["cwd"]
        send({"id": number, "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        follow("\n".join(part.get("text", "") for part in message["params"]["prompt"]), folder)
        send({"id": number, "result": {"stopReason": "end_turn"}})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "method not found"}})
