"""An agent that speaks the Agent Client Protocol, version 1, and plays the part named by its argument."""
import json
import os
import sys
import time

PART = sys.argv[1]
SERIAL = 0
PROMPTS = 0


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, params):
    """Asks the client and gives its result, or its error."""
    global SERIAL
    SERIAL += 1
    send({"id": SERIAL, "method": method, "params": {"sessionId": "s1", **params}})
    while True:
        message = receive()
        if message.get("id") == SERIAL and "method" not in message:
            return message.get("result"), message.get("error")


def update(what, **fields):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": what, **fields}}})


def say(text):
    for piece in (text[: len(text) // 2], text[len(text) // 2:]):
        update("agent_message_chunk", content={"type": "text", "text": piece})


def may(kind, path):
    options = [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    call = {"toolCallId": "t1", "kind": kind, "title": kind, "locations": [{"path": path}] if path else []}
    result, _ = ask("session/request_permission", {"toolCall": call, "options": options})
    return result["outcome"].get("optionId", result["outcome"]["outcome"])


def report(**more):
    return json.dumps({"status": "fixed", "files_changed": ["calc.py"], "summary": "did it", **more})


def play(cwd):
    calc = os.path.join(cwd, "calc.py")
    if PART == "fix":
        update("tool_call", toolCallId="t1", title="Edit calc.py", kind="edit", status="pending", locations=[{"path": calc}])
        read, _ = ask("fs/read_text_file", {"path": calc})
        second, _ = ask("fs/read_text_file", {"path": calc, "line": 2, "limit": 1})
        answers = [may("edit", calc), may("execute", None), may("edit", os.path.join(cwd, "other.py")), may("fetch", None)]
        ask("fs/write_text_file", {"path": calc, "content": read["content"].replace("-", "+")})
        refused = []
        for path in (os.path.join(cwd, "other.py"), os.path.join(cwd, "link", "x"), "/etc/fix-loop-test", os.path.join(cwd, "..", "x")):
            _, error = ask("fs/write_text_file", {"path": path, "content": "x"})
            refused.append(error is not None)
        _, error = ask("fs/read_text_file", {"path": os.path.join(cwd, "link", "secret")})
        update("usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
        say("Working.\n")
        say(report(summary=json.dumps([answers, refused, error is not None, second["content"]])))
    elif PART == "read":
        answers = [may("read", calc), may("edit", calc), may("execute", None)]
        _, error = ask("fs/write_text_file", {"path": calc, "content": "x"})
        evidence = json.dumps([answers, error is not None])
        say(json.dumps({"findings": [{"id": 1, "verdict": "confirmed", "severity": "P1", "evidence": evidence}]}))
    elif PART == "late":
        say("I have fixed it." if PROMPTS == 1 else report())
    elif PART == "never":
        say("I have fixed it.")
    elif PART == "apology":
        say("API Error: 529 overloaded")
    elif PART == "crash":
        sys.stderr.write("boom\n")
        sys.stderr.flush()
        os._exit(3)
    elif PART == "hang":
        update("tool_call", toolCallId="t1", title="sleep", kind="execute", status="in_progress")
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        time.sleep(1000)


while True:
    message = receive()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
    elif method == "session/new":
        if PART == "login":
            send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
            continue
        CWD = message["params"]["cwd"]
        modes = {"currentModeId": "yolo", "availableModes": [{"id": name, "name": name} for name in ("yolo", "default")]}
        send({"id": number, "result": {"sessionId": "s1", "modes": modes}})
    elif method == "session/set_mode":
        assert message["params"]["modeId"] == "default"
        send({"id": number, "result": {}})
    elif method == "session/prompt":
        PROMPTS += 1
        if PART == "broken":
            send({"id": number, "error": {"code": -32603, "message": "Internal error", "data": {"details": "503 Service Unavailable"}}})
            continue
        play(CWD)
        send({"id": number, "result": {"stopReason": "end_turn"}})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "method not found"}})
