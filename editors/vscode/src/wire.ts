/** What the server says beyond LSP: the notification `fixLoop/status` and the request `fixLoop/findings`. */

export type FindingState =
  | "open"
  | "fixing"
  | "verifying"
  | "waiting"
  | "manual"
  | "resolved"
  | "deferred"
  | "disputed"
  | "demoted"
  | "stale"
  | "ignored";

export interface Loop {
  id: string;
  protocol: string;
  state: string;
  round: number;
  max_rounds: number;
  findings: unknown[];
  agent: string | null;
  seconds: number;
  cost_usd: number | null;
  activity?: string;
}

/** Loops that have ended stay listed, to be undone. */
export function isRunning(loop: Loop): boolean {
  return loop.state !== "finished";
}

export interface Question {
  id: string;
  kind: string;
  loop: string | null;
  findings: unknown[];
  text: string;
  detail: string;
  options: string[];
  recommended: string;
}

export interface Status {
  revision: number;
  driver: { pid: number; host: string; read_only: boolean } | null;
  counts: Record<FindingState, number>;
  loops: Loop[];
  questions: Question[];
  /** The folder's URI, where the window has several. */
  workspace?: string;
}

export interface Finding {
  id: unknown;
  fingerprint: string;
  severity: "P0" | "P1" | "P2" | "P3";
  title: string;
  file: string | null;
  line_start: number | null;
  line_end: number | null;
  state: FindingState;
  evidence: string | null;
  round: number | null;
  loop: string | null;
}

export interface FindingsRequest {
  cursor?: unknown;
  limit?: number;
  states?: FindingState[];
  uri?: string;
}

export interface FindingsPage {
  items: Finding[];
  next: unknown;
}
