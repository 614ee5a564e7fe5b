import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { type ExecuteCommandParams, LanguageClient, State, Trace } from "vscode-languageclient/node";
import type { FindingsPage, FindingsRequest, Status } from "./wire";

/** Commands that run something. In Restricted Mode they lead to VS Code's own question and not past it. */
const RUNNING = new Set(["fix", "fixFile", "fixAll", "verify", "review", "fromCheck", "answer", "trust"]);

/** Keys of the `fixLoop` section that are the client's own. */
const CLIENT_KEYS = new Set(["server", "trace"]);

/** The one server of this window, and everything that is said to it. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly statusChanged = new vscode.EventEmitter<Status | undefined>();
  /** Fires with every status, and with `undefined` when the server has ended. */
  readonly onStatus = this.statusChanged.event;
  readonly output = vscode.window.createOutputChannel("Fix Loop", { log: true });
  private last: Status | undefined;

  get status(): Status | undefined {
    return this.last;
  }

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  async start(): Promise<void> {
    const configured = vscode.workspace.getConfiguration("fixLoop").get<string>("server.path")?.trim();
    const command = configured ? expandHome(configured) : "fix-loop";
    // Looked for here, since the client's own message does not say what to do about it.
    if (!isProgram(command)) {
      void this.notFound(command);
      return;
    }
    const client = new LanguageClient(
      "fixLoop",
      "Fix Loop",
      { command, args: ["lsp"] },
      {
        // Findings are about any file; documents that are not files have none.
        documentSelector: [{ scheme: "file" }],
        outputChannel: this.output,
        initializationOptions: () => ({ trusted: vscode.workspace.isTrusted, settings: settings() }),
        middleware: {
          // Those of quick fixes and lenses.
          executeCommand: (command, args, next) =>
            isBarred(command.replace("fix-loop.", "")) ? askForTrust() : next(command, args),
          workspace: {
            // Only what somebody has set: a default of this extension must not hide what fix-loop.toml says.
            configuration: (params) =>
              params.items.map((item) =>
                item.section === "fixLoop"
                  ? settings(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined)
                  : vscode.workspace.getConfiguration().get(item.section ?? "", null),
              ),
          },
        },
      },
    );
    this.client = client;
    client.onNotification("fixLoop/status", (status: Status) => {
      this.last = status;
      this.statusChanged.fire(status);
    });
    client.onDidChangeState(({ newState }) => {
      // What an empty view says depends on it.
      void vscode.commands.executeCommand("setContext", "fixLoop.running", newState === State.Running);
      if (newState === State.Stopped) {
        this.last = undefined;
        this.statusChanged.fire(undefined);
      }
    });
    try {
      await client.start();
      await client.setTrace(traceLevel());
    } catch (error) {
      // The client has told the user.
      this.output.error(`${command} could not be started: ${messageOf(error)}`);
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.needsStop()) {
      await client.stop();
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  dispose(): void {
    this.statusChanged.dispose();
    this.output.dispose();
  }

  async configurationChanged(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (!event.affectsConfiguration("fixLoop")) {
      return;
    }
    if (event.affectsConfiguration("fixLoop.server")) {
      return this.restart();
    }
    if (event.affectsConfiguration("fixLoop.trace")) {
      await this.client?.setTrace(traceLevel());
    }
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: { fixLoop: settings() } });
  }

  /** The user trusts the workspace: that is the answer to the server's question, and it starts nothing. */
  async trusted(): Promise<void> {
    if (this.running) {
      await this.execute("trust", {});
    }
  }

  /** Runs a server command; what went wrong is shown to the user. Gives what the server answered. */
  async execute(name: string, argument: object): Promise<unknown> {
    if (!this.client || !this.running) {
      void vscode.window.showWarningMessage("Fix Loop: the server is not running.");
      return undefined;
    }
    if (isBarred(name)) {
      return askForTrust();
    }
    const params: ExecuteCommandParams = { command: `fix-loop.${name}`, arguments: [argument] };
    try {
      return await this.client.sendRequest("workspace/executeCommand", params);
    } catch (error) {
      void vscode.window.showWarningMessage(`Fix Loop: ${messageOf(error)}`);
      return undefined;
    }
  }

  async findings(request: FindingsRequest): Promise<FindingsPage> {
    if (!this.client || !this.running) {
      return { items: [], next: null };
    }
    return this.client.sendRequest<FindingsPage>("fixLoop/findings", request);
  }

  private async notFound(command: string): Promise<void> {
    this.output.error(`${command} was not found`);
    const settingsButton = "Open Settings";
    const choice = await vscode.window.showErrorMessage(
      `Fix Loop: \`${command}\` was not found. Install the fix-loop program, or say where it is.`,
      settingsButton,
    );
    if (choice === settingsButton) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "fixLoop.server.path");
    }
  }
}

function isBarred(name: string): boolean {
  return RUNNING.has(name) && !vscode.workspace.isTrusted;
}

async function askForTrust(): Promise<undefined> {
  const manage = "Manage Workspace Trust";
  const text = "Fix Loop: fixing is off in Restricted Mode, since it runs programs. Trust this workspace first.";
  if ((await vscode.window.showWarningMessage(text, manage)) === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
  return undefined;
}

/** What the user, the workspace or the folder has set under `fixLoop`, without the client's own keys. */
function settings(scope?: vscode.Uri): Record<string, unknown> {
  const all = vscode.workspace.getConfiguration("fixLoop", scope ?? null);
  const set: Record<string, unknown> = {};
  for (const key of Object.keys(all)) {
    if (CLIENT_KEYS.has(key) || typeof all[key] === "function") {
      continue;
    }
    const inspected = all.inspect(key);
    const value = inspected?.workspaceFolderValue ?? inspected?.workspaceValue ?? inspected?.globalValue;
    if (value !== undefined && value !== null) {
      set[key] = value;
    }
  }
  return set;
}

function traceLevel(): Trace {
  return Trace.fromString(vscode.workspace.getConfiguration("fixLoop").get<string>("trace.server", "off"));
}

/** Whether this can be started: as a path, or as a name in one of the folders of the `PATH`. */
function isProgram(command: string): boolean {
  const names = process.platform === "win32" ? [command, `${command}.exe`] : [command];
  const folders = path.basename(command) === command ? (process.env["PATH"] ?? "").split(path.delimiter) : [""];
  return folders.some((folder) => names.some((name) => isExecutable(folder === "" ? name : path.join(folder, name))));
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function expandHome(file: string): string {
  return file.startsWith("~/") ? path.join(os.homedir(), file.slice(2)) : file;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
