-- A session in Neovim: open a file with a leak, wait for the diagnostic, apply the checked fix, save, wait until it is gone.
local limit = 60000

local function fail(why)
  io.stderr:write(why .. "\n")
  os.exit(1)
end

vim.cmd("edit a.c")
local buffer = vim.api.nvim_get_current_buf()
local handlers = {
  ["window/logMessage"] = function(_, logged) io.stderr:write("log: " .. logged.message .. "\n") end,
}
local client_id = vim.lsp.start_client({
  name = "caulk",
  cmd = { "@CAULK@", "lsp", "--no-cache" },
  root_dir = vim.fn.getcwd(),
  handlers = handlers,
})
if not client_id then fail("the server did not start") end
vim.lsp.buf_attach_client(buffer, client_id)

if not vim.wait(limit, function() return #vim.diagnostic.get(buffer) == 1 end, 50) then
  fail("no diagnostic")
end
local shown = vim.diagnostic.get(buffer)[1]
io.stderr:write("diagnostic: line " .. shown.lnum + 1 .. ": " .. shown.message .. "\n")

local client = vim.lsp.get_client_by_id(client_id)
local uri = vim.uri_from_bufnr(buffer)
local allocation = { textDocument = { uri = uri }, position = { line = 2, character = 16 } }
local hover = client.request_sync("textDocument/hover", allocation, limit, buffer)
if not hover or not hover.result then fail("no hover: " .. vim.inspect(hover)) end
io.stderr:write("hover on line 3:\n" .. hover.result.contents.value .. "\n")
local asked = {
  textDocument = { uri = uri },
  range = shown.user_data.lsp.range or { start = { line = shown.lnum, character = shown.col }, ["end"] = { line = shown.lnum, character = shown.col } },
  context = { diagnostics = { shown.user_data.lsp } },
}
asked.context.diagnostics[1].range = asked.range
asked.context.diagnostics[1].message = shown.message
asked.context.diagnostics[1].source = "caulk"
local actions = client.request_sync("textDocument/codeAction", asked, limit, buffer)
if not actions or not actions.result or #actions.result == 0 then fail("no actions: " .. vim.inspect(actions)) end
for _, action in ipairs(actions.result) do
  io.stderr:write("action: " .. action.title .. "\n")
end
local resolved = client.request_sync("codeAction/resolve", actions.result[1], limit, buffer)
if not resolved or not resolved.result or not resolved.result.edit then fail("no edit: " .. vim.inspect(resolved)) end
vim.lsp.util.apply_workspace_edit(resolved.result.edit, client.offset_encoding)
vim.cmd("silent write")
io.stderr:write("line 7 is now: " .. vim.api.nvim_buf_get_lines(buffer, 6, 7, true)[1] .. "\n")
if not vim.wait(limit, function() return #vim.diagnostic.get(buffer) == 0 end, 50) then
  fail("the diagnostic stays")
end
io.stderr:write("gone after the fix\n")
client.stop()
os.exit(0)
