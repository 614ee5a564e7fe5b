#!/usr/bin/env python3
"""A `command` agent that follows a recipe: scripted.py RECIPE_FILE LOG_FOLDER.

It reads the brief on stdin and carries out the steps of the first rule that matches it. Each brief is kept in the log
folder as NUMBER.json, in the order of the dispatches, before anything is done.

Recipe: [{"when": {...}, "do": [step, ...]}, ...]. `when` may name `role`, `round`, `nth` (the how manyeth dispatch of that
role it is, from 1), `title` (part of a finding's title), `says` (part of the instructions) and `answered` (whether a
question was answered before).

Steps, in the order given:
  {"edit": [file, old, new]}      replace the one place where `old` stands; it must be there
  {"write": [file, text]}         write a whole file, with its folders
  {"append": [file, text]}
  {"delete": file}
  {"rename": [from, to]}
  {"mode": [file, octal]}
  {"run": [argument, ...]}        run a program to its end, such as git; it must succeed
  {"spawn": [argument, ...]}      leave a program running in a session of its own; its pid goes to LOG/spawned
  {"stderr": text}
  {"report": object}              print the report; `files_changed` is filled in from the steps when it is absent
  {"judge": verdict, "severity"?, "evidence"?, "new"?: [finding]}
                                  print a ReviewOutput with this verdict on every finding of the brief
  {"truth": [argument, ...]}      print a ReviewOutput that says what this program says: 0 all is well, 10 the finding is
                                  there, 11 something else is broken, anything else both
  {"commit": message}             commit everything
  {"footer": object}              print the footer of `converge` as the worktree really is, with these keys over it
  {"prose": object}               the same footer as models write it: prose, a block that is no footer, and YAML in a fence
  {"consolidate": {n: verdict}}   print a checker's report: one root cause per finding of the brief, CONFIRMED unless named
  {"close": {id: state}}          print a closer's report: every root cause of the brief RESOLVED unless named
  {"raw": text}                   print anything
  {"mark": file}                  create LOG/file, so that a test knows that this point was reached
  {"await": file}                 go on when LOG/file exists
  {"hang": true}                  never come back, whatever signal asks for it
  {"exit": code}                  end with this code
  {"kill": signal number}         end by this signal

It is started some thousand times, so it loads only what its steps need.
"""
import json
import os
import sys
import time
from pathlib import Path


def main():
    recipe_file, log = Path(sys.argv[1]), Path(sys.argv[2])
    text = sys.stdin.read()
    brief = json.loads(text)
    log.mkdir(parents=True, exist_ok=True)
    nth = keep(log, text, brief["role"])
    for rule in json.loads(recipe_file.read_text()):
        if matches(rule.get("when", {}), brief, nth):
            return follow(rule["do"], brief, log)
    print(f"no rule for {brief['role']} in round {brief['round']}, dispatch {nth}", file=sys.stderr)
    return 64


def keep(log, text, role):
    """Logs the brief and says the how manyeth of its role it is."""
    number = 1
    while True:
        try:
            # Whole or not at all: two workers may start at once.
            part = log / f".{os.getpid()}.part"
            part.write_text(text)
            os.link(part, log / f"{number:03}.json")
            part.unlink()
            break
        except FileExistsError:
            number += 1
    earlier = [json.loads((log / f"{n:03}.json").read_text()) for n in range(1, number)]
    return 1 + sum(1 for brief in earlier if brief["role"] == role)


def matches(when, brief, nth):
    for key, wanted in when.items():
        if key == "nth":
            found = nth
        elif key == "title":
            if not any(wanted in finding["title"] for finding in brief["findings"]):
                return False
            continue
        elif key == "says":
            if wanted not in brief["instructions"]:
                return False
            continue
        elif key == "answered":
            found = bool(brief["questions_answered"])
        else:
            found = brief[key]
        if found != wanted:
            return False
    return True


def follow(steps, brief, log):
    changed = []

    def touch(*files):
        changed.extend(file for file in files if file not in changed)

    for step in steps:
        if "edit" in step:
            file, old, new = step["edit"]
            before = Path(file).read_bytes()
            if before.count(old.encode()) != 1:
                print(f"{file} does not hold exactly one {old!r}", file=sys.stderr)
                return 65
            Path(file).write_bytes(before.replace(old.encode(), new.encode()))
            touch(file)
        elif "write" in step:
            file, content = step["write"]
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_bytes(content.encode())
            touch(file)
        elif "append" in step:
            file, content = step["append"]
            with open(file, "ab") as target:
                target.write(content.encode())
            touch(file)
        elif "delete" in step:
            os.remove(step["delete"])
            touch(step["delete"])
        elif "rename" in step:
            os.rename(*step["rename"])
            touch(*step["rename"])
        elif "mode" in step:
            file, mode = step["mode"]
            os.chmod(file, int(mode, 8))
            touch(file)
        elif "run" in step:
            import subprocess
            subprocess.run(step["run"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        elif "spawn" in step:
            import subprocess
            child = subprocess.Popen(
                step["spawn"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            with open(log / "spawned", "a") as pids:
                pids.write(f"{child.pid}\n")
        elif "stderr" in step:
            print(step["stderr"], file=sys.stderr, flush=True)
        elif "report" in step:
            report = {"summary": "did as the recipe says", "concerns": None, "blocked_by": None}
            if "needs_scope_expansion" in step["report"] or "phase" in step["report"]:
                report = {}
            elif brief["role"] in ("fixer", "recoverer"):
                report["files_changed"] = changed
            else:
                report = {}
            report.update(step["report"])
            print(json.dumps(report), flush=True)
        elif "judge" in step:
            print(json.dumps(judgement(step, brief)), flush=True)
        elif "truth" in step:
            print(json.dumps(truth(step["truth"], brief)), flush=True)
        elif "commit" in step:
            import subprocess
            subprocess.run(["git", "add", "--all"], check=True)
            subprocess.run(["git", "commit", "--quiet", "-m", step["commit"]], check=True)
        elif "footer" in step:
            print(json.dumps(footer(brief, step["footer"])), flush=True)
        elif "prose" in step:
            print(prose(footer(brief, step["prose"])), flush=True)
        elif "consolidate" in step:
            said = [
                {
                    "id": f"standards-{n}", "verdict": step["consolidate"].get(str(n), "CONFIRMED"), "from": [n],
                    "root_cause": finding["title"], "evidence": f"looked at {finding['file']}",
                }
                for n, finding in enumerate(brief["findings"], 1)
            ]
            print(json.dumps(footer(brief, {"findings": said})), flush=True)
        elif "close" in step:
            said = [
                {"id": f["id"], "state": step["close"].get(f["id"], "RESOLVED"), "evidence": "looked at the delta"}
                for f in brief["findings"]
            ]
            known = [f["id"] for f in brief["findings"]]
            said += [
                {"id": id, "state": state, "evidence": "the fix broke it", "file": "app.txt", "line": 1}
                for id, state in step["close"].items() if state == "CONFIRMED_FIX_REGRESSION" and id not in known
            ]
            print(json.dumps(footer(brief, {"findings": said})), flush=True)
        elif "raw" in step:
            print(step["raw"], flush=True)
        elif "mark" in step:
            (log / step["mark"]).touch()
        elif "await" in step:
            while not (log / step["await"]).exists():
                time.sleep(0.02)
        elif "hang" in step:
            import signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(3600)
        elif "exit" in step:
            return step["exit"]
        elif "kill" in step:
            os.kill(os.getpid(), step["kill"])
        else:
            print(f"no such step: {step}", file=sys.stderr)
            return 66
    return 0


def footer(brief, over):
    import subprocess

    def git(*arguments):
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()

    phases = {"reviewer": "review", "checker": "check", "fixer": "fix", "recoverer": "recover", "closer": "close"}
    return {
        "phase": phases[brief["role"]], "status": "DONE", "base": brief["base"], "head": git("rev-parse", "HEAD"),
        "tree": "dirty" if git("status", "--porcelain") else "clean", "validation": "PASS",
        "validation_command": "sh check.sh", "blocked_by": None, **over,
    }


def prose(footer):
    lines = "\n".join(f"  {key}: {json.dumps(value)}" for key, value in footer.items())
    return (
        "I began with this, which is not my result:\n\n```yaml\nWORKER_RESULT:\n  phase: fix\n  status: BLOCKED\n"
        f"  head: 0000000\n```\n\nThen I went on.\n\n```yaml\nWORKER_RESULT:\n{lines}\n```\n"
    )


def truth(arguments, brief):
    import subprocess
    code = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode
    new = {
        "id": 99, "severity": "P1", "title": "Something else is broken", "body": "The fix broke it.", "file": None,
        "line_start": None, "line_end": None, "confidence": 1, "criterion": "nothing else breaks",
        "verdict": "confirmed", "evidence": f"the program ended with {code}",
    }
    return judgement({
        "judge": "rejected" if code in (0, 11) else "confirmed", "evidence": f"tried it: {code}",
        "new": [] if code in (0, 10) else [new],
    }, brief)


def judgement(step, brief):
    findings = []
    for finding in brief["findings"]:
        judged = dict(finding, verdict=step["judge"], evidence=step.get("evidence", "looked at the diff"))
        if "severity" in step:
            judged["severity"] = step["severity"]
        findings.append(judged)
    return {"schema_version": "v1", "findings": findings + step.get("new", []), "checks_run": []}


sys.exit(main())
