-- `:checkhealth fix_loop`
local M = {}

function M.check()
  vim.health.start('fix-loop')
  if vim.fn.has('nvim-0.11') == 0 then
    return vim.health.error('Neovim 0.11 or newer is needed')
  end
  local command = require('fix_loop').command('doctor')
  if vim.fn.executable(command[1]) == 0 then
    return vim.health.error(('`%s` was not found'):format(command[1]), {
      'Install fix-loop and put it on the PATH,',
      'or set vim.g.fix_loop_command to where it is.',
    })
  end
  vim.health.ok(('`%s` was found'):format(vim.fn.exepath(command[1])))
  local doctor = vim.system(command, { text = true, cwd = vim.fn.getcwd() }):wait()
  for line in vim.gsplit((doctor.stdout or '') .. (doctor.stderr or ''), '\n', { trimempty = true }) do
    vim.health.info(line)
  end
end

return M
