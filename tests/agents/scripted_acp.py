#!/usr/bin/env python3
"""An agent that speaks the Agent Client Protocol, version 1, and follows a recipe: scripted_acp.py RECIPE_FILE LOG_FOLDER.

Recipe: [{"when": {"role", "says", "lacks"}, "do": [step, ...]}, ...], or {"rules": [...], "hello": ..., "session": ...},
whose last two are the answers to `initialize` and `session/new`: a result, or {"error": {...}}. The first rule that fits the
prompt is followed; `says` and `lacks` are text that stands, or does not stand, in the prompt. What the client answers is
appended to LOG/answers.jsonl, one step a line; so is the mode that it chooses. Steps:
  {"read": file}, {"read": [file, line, limit]}   through the client
  {"replace": [file, old, new]}    read and written through the client
  {"write": [file, text]}          through the client
  {"disk": [file, text]}           straight to the disk, as most agents do it
  {"may": [kind, file, options]}   ask for permission; the kinds of the options, and the file, may be left out
  {"ask": [method, params]}        any request
  {"report": object}               the report, in two pieces
  {"say": text}
  {"update": object, "session"?}   any session update
  {"raw": text}, {"bytes": hex}    any line on the output
  {"stderr": text}
  {"error": object}                answer the prompt with an error
  {"stop": reason, "usage"?}       answer the prompt with this reason
  {"exit": code}                   end without an answer
  {"hang": true}                   never come back, and leave somebody in a session of its own
"""
import json
import os
import sys
import time

OPENINGS = {"fixer": "You fix review findings", "verifier": "You verify fixes"}
RECIPE = json.load(open(sys.argv[1]))
RECIPE = RECIPE if isinstance(RECIPE, dict) else {"rules": RECIPE}
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


def keep(what):
    with open(LOG, "a") as log:
        log.write(json.dumps(what) + "\n")


def ask(method, **params):
    """The client's result, or its error as text."""
    global serial
    serial += 1
    send({"id": serial, "method": method, "params": {"sessionId": "s1", **params}})
    while True:
        message = receive()
        if message.get("id") == serial and "method" not in message:
            return message.get("result"), json.dumps(message["error"]) if "error" in message else None


def update(what, session="s1"):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})


def say(text, session="s1"):
    update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}, session)


def carry_out(step, cwd):
    """What the client answered, and how the prompt is answered if that is settled."""
    name, value = next(iter(step.items()))
    in_cwd = lambda file: os.path.join(cwd, file)
    if name == "read":
        file, line, limit = value if isinstance(value, list) else (value, None, None)
        some = {key: number for key, number in (("line", line), ("limit", limit)) if number is not None}
        result, error = ask("fs/read_text_file", path=in_cwd(file), **some)
        return {"text": result and result["content"], "error": error}, None
    if name == "replace":
        result, error = ask("fs/read_text_file", path=in_cwd(value[0]))
        if error:
            return {"error": error}, None
        assert value[1] in result["content"], result["content"]
        text = result["content"].replace(value[1], value[2])
        _, error = ask("fs/write_text_file", path=in_cwd(value[0]), content=text)
        return {"text": result["content"], "error": error}, None
    if name == "write":
        return {"error": ask("fs/write_text_file", path=in_cwd(value[0]), content=value[1])[1]}, None
    if name == "disk":
        with open(in_cwd(value[0]), "w") as out:
            out.write(value[1])
    if name == "may":
        kind, file, kinds = (value + [None, None])[:3]
        kinds = ["allow_always", "allow_once", "reject_once"] if kinds is None else kinds
        options = [{"optionId": one, "name": one, "kind": one} for one in kinds]
        locations = [{"path": in_cwd(file)}] if file else []
        call = {"toolCallId": "t%d" % serial, "kind": kind, "title": kind, "locations": locations}
        result, error = ask("session/request_permission", toolCall=call, options=options)
        outcome = result and result["outcome"]
        return {"text": outcome and outcome.get("optionId", outcome["outcome"]), "error": error}, None
    if name == "ask":
        result, error = ask(value[0], **value[1])
        return {"text": result, "error": error}, None
    if name == "report":
        text = json.dumps(value)
        say(text[: len(text) // 2])
        say(text[len(text) // 2:])
    if name == "say":
        say(value, step.get("session", "s1"))
    if name == "update":
        update(value, step.get("session", "s1"))
    if name in ("raw", "bytes"):
        sys.stdout.flush()
        sys.stdout.buffer.write(value.encode() if name == "raw" else bytes.fromhex(value))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
    if name == "stderr":
        print(value, file=sys.stderr, flush=True)
    if name == "error":
        return {}, {"error": value}
    if name == "stop":
        return {}, {"result": {"stopReason": value, **({"usage": step["usage"]} if "usage" in step else {})}}
    if name == "exit":
        os._exit(value)
    if name == "hang":
        if os.fork() == 0:
            os.setsid()
        time.sleep(1000)
    return {}, None


def follow(prompt, cwd):
    role = next((role for role, opening in OPENINGS.items() if opening in prompt), None)
    for rule in RECIPE["rules"]:
        when = rule.get("when", {})
        if when.get("role", role) == role and when.get("says", "") in prompt and not (when.get("lacks") or "\0") in prompt:
            for step in rule["do"]:
                said, answer = carry_out(step, cwd)
                keep({"step": step, **said})
                if answer:
                    return answer
            return {"result": {"stopReason": "end_turn"}}
    sys.exit("no rule for: " + prompt)


def answer(known, result):
    """What the recipe says, or the ordinary result."""
    result = RECIPE.get(known, result)
    return result if "error" in result else {"result": result}


while True:
    message = receive()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        hello = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        send({"id": number, **answer("hello", hello)})
    elif method == "session/new":
        folder = message["params"]["cwd"]
        send({"id": number, **answer("session", {"sessionId": "s1"})})
    elif method == "session/set_mode":
        keep({"mode": message["params"]["modeId"]})
        send({"id": number, "result": {}})
    elif method == "session/prompt":
        text = "\n".join(part.get("text", "") for part in message["params"]["prompt"])
        send({"id": number, **follow(text, folder)})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "method not found"}})
