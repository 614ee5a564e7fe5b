// Drives a real VS Code window through the main job: node vscode.mjs notification|later
//
// `notification` answers the question where it is asked; `later` closes it there and answers by a quick fix. Everything is
// waited for as an event with a far deadline; a menu or prompt that did not open is asked for again, as a person would.
// Ends with code 0 and "all done", or says what did not happen, with a picture of the window in FIX_LOOP_PICTURE.
// FIX_LOOP_SHOW asks for a picture of the question, for the README.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const { FIX_LOOP_VSCODE: VSCODE, FIX_LOOP_VSIX: VSIX, FIX_LOOP_PLAYWRIGHT: PLAYWRIGHT } = process.env;
const { FIX_LOOP_CHROMIUM: CHROMIUM, FIX_LOOP_BIN: PROGRAM, FIX_LOOP_REPO: REPO, FIX_LOOP_STATE: STATE } = process.env;
const how = process.argv[2];
const { chromium } = createRequire(path.join(PLAYWRIGHT, "package.json"))("playwright-core");

const LONG = 90_000;
const began = Date.now();
const say = (...words) => console.log(`${((Date.now() - began) / 1000).toFixed(1)}s`, ...words);

// ---------------------------------------------------------------- code-server

const node = path.join(VSCODE, "bin/node");
const entry = path.join(VSCODE, "app/node_modules/code-server/out/node/entry.js");
const folders = ["--user-data-dir", `${STATE}/user`, "--extensions-dir", `${STATE}/extensions`, "--config", `${STATE}/config.yaml`];
// No gallery: nothing is looked up anywhere.
const environment = { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}', PATH: `${VSCODE}/bin:${process.env.PATH}` };
delete environment.VSCODE_IPC_HOOK_CLI;

fs.mkdirSync(`${STATE}/user/User`, { recursive: true });
fs.mkdirSync(`${STATE}/user/Machine`, { recursive: true });
fs.writeFileSync(`${STATE}/config.yaml`, "cert: false\n");
fs.writeFileSync(
  `${STATE}/user/User/settings.json`,
  JSON.stringify({
    "fixLoop.show": "confirmed",
    "security.workspace.trust.enabled": false,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
    "workbench.enableExperiments": false,
    "workbench.tips.enabled": false,
    "workbench.reduceMotion": "on",
    "extensions.autoCheckUpdates": false,
    "extensions.autoUpdate": false,
    "extensions.ignoreRecommendations": true,
    "chat.disableAIFeatures": true,
    "git.enabled": false,
    "editor.minimap.enabled": false,
    "files.autoSave": "off",
  }),
);

// Where a program is, is a machine's setting; a window on a remote machine takes it from there only.
fs.writeFileSync(`${STATE}/user/Machine/settings.json`, JSON.stringify({ "fixLoop.server.path": PROGRAM }));

function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [entry, ...folders, ...args], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.stderr.on("data", (data) => (text += data));
    child.on("close", (code) => (code === 0 ? resolve(text) : reject(new Error(`code-server ${args}: ${code}\n${text}`))));
  });
}

function serve() {
  const args = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"];
  args.push("--disable-workspace-trust", "--disable-getting-started-override", REPO);
  const child = spawn(node, [entry, ...folders, ...args], { env: environment, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const log = fs.createWriteStream(`${STATE}/server.log`);
  const address = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("code-server did not start")), LONG);
    let text = "";
    const hear = (data) => {
      log.write(data);
      text += data;
      const found = /HTTP server listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(text);
      if (found) {
        clearTimeout(late);
        resolve(found[1]);
      }
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("close", (code) => reject(new Error(`code-server ended with ${code}\n${text}`)));
  });
  return { child, address };
}

// ---------------------------------------------------------------- the window

let page;

async function waitFor(what, condition, deadline = LONG) {
  const end = Date.now() + deadline;
  for (;;) {
    if (await condition().catch(() => false)) {
      say("ok", what);
      return;
    }
    if (Date.now() > end) {
      throw new Error(`this did not happen: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const visible = (locator, timeout) =>
  locator.first().waitFor({ state: "visible", timeout }).then(() => true, () => false);

/** Does `open`, and again when nothing was seen of `locator` within five seconds: popups are lost while a window loads. */
async function opened(what, open, locator) {
  for (let tries = 0; tries < 12; tries++) {
    await open();
    if (await visible(locator, 5000)) {
      say("ok", what);
      return;
    }
    await page.keyboard.press("Escape");
  }
  throw new Error(`this did not open: ${what}`);
}

async function command(title) {
  const input = page.locator(".quick-input-widget input[type=text]");
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: title });
  await opened(`command ${title}`, async () => {
    await page.keyboard.press("F1");
    if (await visible(input, 3000)) {
      await input.first().fill(`>${title}`);
    }
  }, row);
  await row.first().click();
}

async function openFile(name) {
  const row = page.locator(".explorer-folders-view .monaco-list-row", { hasText: name });
  await waitFor(`the explorer shows ${name}`, () => row.first().isVisible());
  const line = page.locator(".monaco-editor .view-line", { hasText: "seven" });
  await opened(`the editor of ${name}`, () => row.first().dblclick(), line);
}

const squiggle = () => page.locator(".monaco-editor .squiggly-warning, .monaco-editor .squiggly-error");
const line = (text) => page.locator(".monaco-editor .view-line", { hasText: text });

/** Chooses a quick fix on the line that holds this text; the menu is opened again until it offers it. */
async function quickFix(text, title) {
  const row = page.locator(".action-widget .monaco-list-row", { hasText: title });
  await opened(`quick fix ${title}`, async () => {
    await line(text).first().click();
    await page.keyboard.press("Control+.");
  }, row);
  await row.first().click();
}

async function theJob(address) {
  await page.goto(`${address}/?folder=${encodeURIComponent(REPO)}`);
  await waitFor("the workbench", () => page.locator(".monaco-workbench").first().isVisible());
  await openFile("app.txt");
  await waitFor("the finding is underlined", () => squiggle().first().isVisible());
  const status = page.locator(".statusbar-item", { hasText: "Fix Loop" });
  await waitFor("the status bar counts it", async () => (await status.first().innerText()).includes("1 open"));

  await quickFix("BAD", "Fix with loop: ");
  const toast = page.locator(".notification-toast, .notifications-center .notification-list-item", { hasText: "lib.txt" });
  // A toast goes by itself after a while; the notification centre keeps it.
  await waitFor("the question is asked", async () => {
    if (await visible(toast, 10_000)) {
      return true;
    }
    await command("Notifications: Show Notifications");
    return visible(toast, 5000);
  });
  await waitFor("the status bar tells of the question", async () =>
    (await status.first().innerText()).includes("1 question"),
  );

  const lens = page.locator(".codelens-decoration", { hasText: "waiting for your answer" });
  await waitFor("the line above the finding tells of the question", () => lens.first().isVisible());
  if (process.env.FIX_LOOP_SHOW) {
    await page.screenshot({ path: process.env.FIX_LOOP_SHOW });
  }
  if (how === "notification") {
    await toast.first().locator(".monaco-button", { hasText: "Approve expanded scope" }).first().click();
  } else {
    await command("Notifications: Clear All Notifications");
    await waitFor("the notification is gone", async () => (await toast.count()) === 0);
    await quickFix("BAD", "Answer: Approve expanded scope");
  }

  await waitFor("the editor shows the fix", () => line("GOOD").first().isVisible());
  await waitFor("the underline is gone", async () => (await squiggle().count()) === 0);
  await waitFor("the status bar counts none", async () => {
    const text = await status.first().innerText();
    return !text.includes("open") && !text.includes("round") && !text.includes("question");
  });

  await command("View: Show Fix Loop");
  const finding = page.locator(".pane-body .monaco-list-row", { hasText: "BAD is a word that must go" });
  await waitFor("the view lists the finding as resolved", async () =>
    (await finding.first().innerText()).includes("resolved"),
  );
}

// ---------------------------------------------------------------- all of it

let server;
let browser;
let code = 1;
try {
  await run(["--install-extension", VSIX]);
  say("ok", "the extension is installed");
  server = serve();
  const address = await server.address;
  say("ok", "code-server listens at", address);
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
  page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await theJob(address);
  code = 0;
} catch (error) {
  console.log("FAILED:", error.stack ?? error);
  if (page) {
    const texts = await page.locator(".statusbar-item, .notification-list-item, .monaco-editor .view-line").allInnerTexts().catch(() => []);
    console.log("the window shows:", texts.join(" | "));
    await page.screenshot({ path: process.env.FIX_LOOP_PICTURE ?? `${STATE}/failed.png` }).catch(() => {});
  }
  for (const file of fs.readdirSync(STATE, { recursive: true })) {
    if (/(Fix Loop|exthost|remoteagent).*\.log$/.test(file)) {
      console.log(`--- ${file}\n${fs.readFileSync(path.join(STATE, file), "utf8").slice(-4000)}`);
    }
  }
} finally {
  await browser?.close().catch(() => {});
  if (server) {
    const ended = new Promise((resolve) => server.child.on("close", resolve));
    try {
      // Its extension host and our language server are in its process group.
      process.kill(-server.child.pid, "SIGTERM");
    } catch {
      // It has ended by itself.
    }
    const late = setTimeout(() => process.kill(-server.child.pid, "SIGKILL"), 10_000);
    await ended;
    clearTimeout(late);
  }
}
if (code === 0) {
  say("all done");
}
process.exit(code);
