import * as vscode from "vscode";
import type { Server } from "./server";
import { type Finding, type Loop, type Question, isRunning } from "./wire";

/** The commands of the palette and the view, each of which asks for what the server's command needs. */
export function registerCommands(server: Server): vscode.Disposable[] {
  const commands: Record<string, (finding?: Finding) => unknown> = {
    fixFile: () => {
      const uri = vscode.window.activeTextEditor?.document.uri;
      return uri && run("fixFile", { uri: uri.toString() });
    },
    fixAll: () => run("fixAll", {}),
    fixFinding: (finding) => finding && run("fix", { findings: [finding.fingerprint] }),
    showReport: (finding) => finding && run("report", { finding: finding.fingerprint }),
    answer: async () => {
      const question = await pickQuestion(server.status?.questions ?? []);
      const choice = question && (await pickOption(question));
      return question && choice && run("answer", { question: question.id, choice });
    },
    cancel: () => run("cancel", {}),
    undo: async () => {
      const loop = await pickLoop((server.status?.loops ?? []).filter((loop) => !isRunning(loop)));
      return loop && run("undo", { loop });
    },
    import: async () => {
      const source = await askSource();
      return source && run("import", { source });
    },
    fromCheck: async () => {
      const name = await vscode.window.showInputBox({
        title: "Make findings from a check",
        prompt: "The name of a check in fix-loop.toml. It is run, and each failing test becomes a finding.",
      });
      return name && run("fromCheck", { name });
    },
    review: () => run("review", {}),
    reload: () => run("reload", {}),
    trust: () => run("trust", {}),
    restart: () => server.restart(),
    showOutput: () => server.output.show(),
  };

  async function run(name: string, argument: object): Promise<void> {
    const reply = await server.execute(name, argument);
    if (typeof reply === "object" && reply !== null && "message" in reply && typeof reply.message === "string") {
      vscode.window.setStatusBarMessage(`Fix Loop: ${reply.message}`, 5000);
    }
  }

  return Object.entries(commands).map(([name, command]) =>
    vscode.commands.registerCommand(`fixLoop.${name}`, command),
  );
}

async function pickQuestion(questions: Question[]): Promise<Question | undefined> {
  if (questions.length === 0) {
    void vscode.window.showInformationMessage("Fix Loop: no question is open.");
    return undefined;
  }
  if (questions.length === 1) {
    return questions[0];
  }
  const items = questions.map((question) => ({ label: question.text, detail: question.detail, question }));
  return (await vscode.window.showQuickPick(items, { title: "Which question?" }))?.question;
}

async function pickOption(question: Question): Promise<string | undefined> {
  const items = question.options.map((option) => ({
    label: option,
    description: option === question.recommended ? "recommended" : "",
  }));
  return (await vscode.window.showQuickPick(items, { title: question.text, placeHolder: question.detail }))?.label;
}

async function pickLoop(loops: Loop[]): Promise<string | undefined> {
  if (loops.length === 0) {
    return vscode.window.showInputBox({ title: "Undo a loop", prompt: "The loop's name, as its report shows it." });
  }
  const items = loops.map((loop) => ({ label: loop.id, description: loop.findings.join(", ") }));
  return (await vscode.window.showQuickPick(items, { title: "Undo which loop?" }))?.label;
}

async function askSource(): Promise<string | undefined> {
  const file = "A file…";
  const url = "A pull request…";
  const kind = await vscode.window.showQuickPick([file, url], { title: "Import findings from" });
  if (kind === file) {
    const chosen = await vscode.window.showOpenDialog({ canSelectMany: false, openLabel: "Import" });
    return chosen?.[0]?.fsPath;
  }
  if (kind === url) {
    return vscode.window.showInputBox({ title: "Import findings", prompt: "The pull request's address" });
  }
  return undefined;
}
