import * as vscode from "vscode";
import type { Server } from "./server";
import { type Status, isRunning } from "./wire";

/** One entry in the status bar: what is going on, or what waits for the user. */
export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("fixLoop.status", vscode.StatusBarAlignment.Left, 10);
  private readonly listener: vscode.Disposable;

  constructor(server: Server) {
    this.item.name = "Fix Loop";
    this.listener = server.onStatus((status) => this.show(status));
    this.show(server.status);
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private show(status: Status | undefined): void {
    if (!status) {
      this.item.hide();
      return;
    }
    const { text, warning, command } = words(status);
    this.item.text = text;
    this.item.command = command;
    this.item.backgroundColor = warning ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.tooltip = tooltip(status);
    this.item.show();
  }
}

function words(status: Status): { text: string; warning: boolean; command: string } {
  const waiting = status.questions.length;
  if (waiting > 0) {
    const text = waiting === 1 ? "$(question) Fix Loop: 1 question" : `$(question) Fix Loop: ${waiting} questions`;
    return { text, warning: true, command: "fixLoop.answer" };
  }
  const running = status.loops.filter(isRunning);
  const [loop] = running;
  if (loop) {
    const more = running.length > 1 ? ` (+${running.length - 1})` : "";
    const text = `$(sync~spin) Fix Loop: round ${loop.round} of ${loop.max_rounds}: ${loop.state}${more}`;
    return { text, warning: false, command: "fixLoop.findings.focus" };
  }
  const open = status.counts.open;
  const text = open > 0 ? `$(tools) Fix Loop: ${open} open` : "$(check) Fix Loop";
  return { text, warning: false, command: "fixLoop.findings.focus" };
}

function tooltip(status: Status): string {
  const counts = Object.entries(status.counts).filter(([, count]) => count > 0);
  const lines = [counts.map(([state, count]) => `${count} ${state}`).join(", ") || "no findings"];
  for (const loop of status.loops.filter(isRunning)) {
    const cost = loop.cost_usd === null ? "" : `, $${loop.cost_usd.toFixed(2)}`;
    lines.push(`${loop.id}: ${loop.activity ?? loop.state} (${loop.agent ?? "no agent"}${cost})`);
  }
  for (const question of status.questions) {
    lines.push(question.text);
  }
  if (status.driver?.read_only) {
    lines.push(`Read-only: process ${status.driver.pid} on ${status.driver.host} drives this work tree.`);
  }
  return lines.join("\n");
}
