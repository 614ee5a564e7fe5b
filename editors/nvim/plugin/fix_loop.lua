if vim.g.loaded_fix_loop then
  return
end
vim.g.loaded_fix_loop = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('fix-loop needs Neovim 0.11 or newer', vim.log.levels.WARN)
  return
end

local fix_loop = require('fix_loop')

vim.api.nvim_create_user_command('FixLoop', function(call)
  fix_loop.run(call)
end, {
  nargs = '+',
  range = true,
  complete = fix_loop.complete,
  desc = 'Fix review findings in a bounded loop',
})

-- Off by `vim.g.fix_loop_enable = false`; then `vim.lsp.enable('fix_loop')` turns it on.
if vim.g.fix_loop_enable ~= false then
  local program = fix_loop.command()[1]
  if vim.fn.executable(program) == 1 then
    vim.lsp.enable('fix_loop')
  else
    -- Said once and not for every buffer; `:checkhealth fix_loop` says it again.
    vim.schedule(function()
      vim.notify(('fix-loop: `%s` was not found; see :help fix-loop-install'):format(program), vim.log.levels.WARN)
    end)
  end
end
