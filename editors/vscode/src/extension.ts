/**
 * The VS Code side of Fix Loop: starts the server, and shows what it says.
 *
 * Thin on purpose: it keeps no state but the last status and decides nothing. Problems, quick fixes, hovers, questions
 * and progress come through the language client by themselves.
 */
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { FindingsView } from "./findings";
import { Server } from "./server";
import { StatusBar } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const started = new Server();
  server = started;
  context.subscriptions.push(started, new FindingsView(started), new StatusBar(started), ...registerCommands(started));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => started.configurationChanged(event)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.trusted()),
  );
  await started.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
