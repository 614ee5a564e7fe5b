-- The server's configuration, found by name: `vim.lsp.config('fix_loop', { ... })` changes any of it.
local fix_loop = require('fix_loop')

---@type vim.lsp.Config
return {
  cmd = fix_loop.command('lsp'),
  -- Every language: findings are about any file. Without a root there is nothing to fix in.
  root_markers = { 'fix-loop.toml', '.git' },
  workspace_required = true,
  -- `settings.fixLoop` takes the keys of fix-loop.toml, except those that name commands.
  settings = { fixLoop = vim.g.fix_loop_settings or vim.empty_dict() },
  init_options = { settings = vim.g.fix_loop_settings or vim.empty_dict() },
  handlers = fix_loop.handlers,
}
