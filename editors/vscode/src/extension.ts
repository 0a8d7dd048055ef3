// Starts `caulk lsp`, shows the paths of leaks as a tree, and opens the steps.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { Leak, Node, Place, tree } from "./tree";

let client: LanguageClient | undefined;

function place(uri: vscode.Uri, range: vscode.Range): Place {
  return { uri: uri.toString(), line: range.start.line, character: range.start.character };
}

function leaks(): Leak[] {
  const all: Leak[] = [];
  for (const [uri, diagnostics] of vscode.languages.getDiagnostics()) {
    for (const diagnostic of diagnostics.filter((d) => d.source === "caulk")) {
      const steps = (diagnostic.relatedInformation ?? []).map((step) => ({
        message: step.message,
        place: place(step.location.uri, step.location.range),
      }));
      all.push({ message: diagnostic.message, place: place(uri, diagnostic.range), steps });
    }
  }
  return all;
}

class Leaks implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  refresh(): void {
    this.changed.fire();
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const state = node.children.length > 0 ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(node.label, state);
    const at = new vscode.Position(node.place.line, node.place.character);
    item.command = {
      title: "Open",
      command: "vscode.open",
      arguments: [vscode.Uri.parse(node.place.uri), { selection: new vscode.Range(at, at) }],
    };
    return item;
  }

  getChildren(node?: Node): Node[] {
    return node ? node.children : tree(leaks());
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const settings = vscode.workspace.getConfiguration("caulk");
  const command = settings.get<string>("path", "caulk");
  const args = ["lsp", ...settings.get<string[]>("arguments", [])];
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    "caulk",
    "Caulk",
    { command, args, options: { cwd } },
    {
      documentSelector: [{ language: "c" }, { language: "cpp" }],
      middleware: {
        // The page of a rule is the result of a command: shown beside the code.
        executeCommand: async (name, parameters, next) => {
          const page: unknown = await next(name, parameters);
          if (typeof page === "string") {
            const document = await vscode.workspace.openTextDocument({ language: "markdown", content: page });
            await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside);
          }
          return page;
        },
      },
    },
  );
  const provider = new Leaks();
  context.subscriptions.push(
    vscode.window.registerTreeDataProvider("caulk.path", provider),
    vscode.languages.onDidChangeDiagnostics(() => provider.refresh()),
  );
  await client.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
