import * as vscode from "vscode";
import { type Server, messageOf } from "./server";
import type { Finding, FindingState } from "./wire";

const PAGE = 500;

const ICONS: Record<FindingState, string> = {
  open: "circle-large-outline",
  fixing: "sync~spin",
  verifying: "sync~spin",
  waiting: "question",
  manual: "edit",
  resolved: "pass-filled",
  deferred: "history",
  disputed: "comment-unresolved",
  demoted: "arrow-down",
  stale: "warning",
  ignored: "circle-slash",
};

type Node = { file: string; findings: Finding[] } | Finding;

function isFinding(node: Node): node is Finding {
  return "fingerprint" in node;
}

/** Every finding, by file. Read anew, a page at a time, when the status has changed and the view is seen. */
export class FindingsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Node>;
  private readonly listener: vscode.Disposable;
  private revision = -1;

  constructor(private readonly server: Server) {
    this.view = vscode.window.createTreeView("fixLoop.findings", { treeDataProvider: this, showCollapseAll: true });
    this.listener = server.onStatus((status) => {
      const revision = status?.revision ?? -1;
      if (revision !== this.revision) {
        this.revision = revision;
        this.changed.fire();
      }
      const waiting = status?.questions.length ?? 0;
      this.view.badge =
        waiting === 0 ? undefined : { value: waiting, tooltip: `${waiting} waiting for your answer` };
    });
  }

  dispose(): void {
    this.listener.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node) {
      return isFinding(node) ? [] : node.findings;
    }
    const files = new Map<string, Finding[]>();
    for (const finding of await this.all()) {
      const file = finding.file ?? "";
      const known = files.get(file);
      if (known) {
        known.push(finding);
      } else {
        files.set(file, [finding]);
      }
    }
    return [...files].sort(([a], [b]) => a.localeCompare(b)).map(([file, findings]) => ({ file, findings }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return isFinding(node) ? findingItem(node) : fileItem(node.file, node.findings.length);
  }

  private async all(): Promise<Finding[]> {
    const findings: Finding[] = [];
    let cursor: unknown;
    try {
      do {
        const page = await this.server.findings(cursor === undefined ? { limit: PAGE } : { cursor, limit: PAGE });
        findings.push(...page.items);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
    } catch (error) {
      this.server.output.warn(`the findings could not be listed: ${messageOf(error)}`);
    }
    return findings;
  }
}

function fileItem(file: string, count: number): vscode.TreeItem {
  const item = new vscode.TreeItem(file || "Without a file", vscode.TreeItemCollapsibleState.Expanded);
  item.contextValue = "file";
  item.description = String(count);
  item.iconPath = vscode.ThemeIcon.File;
  return item;
}

function findingItem(finding: Finding): vscode.TreeItem {
  const item = new vscode.TreeItem(finding.title, vscode.TreeItemCollapsibleState.None);
  item.id = finding.fingerprint;
  item.contextValue = finding.state;
  const line = finding.line_start === null ? "" : `line ${finding.line_start} · `;
  const evidence = finding.evidence === null ? "" : ` (${finding.evidence})`;
  item.description = `${finding.severity} · ${line}${finding.state}${evidence}`;
  item.tooltip = `${finding.title}\n${item.description}`;
  item.iconPath = new vscode.ThemeIcon(ICONS[finding.state] ?? "circle-outline");
  const uri = locate(finding);
  if (uri) {
    const line = Math.max(0, (finding.line_start ?? 1) - 1);
    const options: vscode.TextDocumentShowOptions = { selection: new vscode.Range(line, 0, line, 0) };
    item.command = { command: "vscode.open", title: "Open", arguments: [uri, options] };
  }
  return item;
}

function locate(finding: Finding): vscode.Uri | undefined {
  const folder = vscode.workspace.workspaceFolders?.[0];
  return folder && finding.file !== null ? vscode.Uri.joinPath(folder.uri, finding.file) : undefined;
}
