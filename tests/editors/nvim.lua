-- Drives the real Neovim through the main job: nvim --headless --clean ... FILE -c 'luafile THIS'
--
-- FIX_LOOP_STORY says how the question is dealt with: `prompt` answers it when it is asked, `later` dismisses it and
-- answers by a code action. Ends with code 0, or says what did not happen and ends with 1.
local story = vim.env.FIX_LOOP_STORY

local function say(...)
  io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), ' ') .. '\n')
end

local notified = {}
vim.notify = function(message)
  table.insert(notified, message)
end

local function fail(what)
  say('FAILED:', what)
  say('diagnostics:', vim.inspect(vim.diagnostic.get(0)))
  say('notified:', vim.inspect(notified))
  say('status:', vim.inspect(require('fix_loop').state()))
  say('messages:', vim.fn.execute('messages'))
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    fail(what)
  end
  say('ok', what)
end

local function diagnostics()
  return vim.tbl_filter(function(diagnostic)
    return diagnostic.source == 'fix-loop'
  end, vim.diagnostic.get(0))
end

-- What `vim.ui.select` was asked, and how the test answers. A function gets the items and gives one, or nil.
local asked = {}
local answers = {}
vim.ui.select = function(items, options, on_choice)
  table.insert(asked, { prompt = options.prompt or '', items = items, format = options.format_item or tostring })
  local answer = table.remove(answers, 1)
  on_choice(answer and answer(items, options.format_item or tostring))
end

local function beginning_with(text)
  return function(items, format)
    for _, item in ipairs(items) do
      if vim.startswith(format(item), text) then
        return item
      end
    end
    fail(('an item `%s` among %s'):format(text, vim.inspect(vim.tbl_map(format, items))))
  end
end

local function dismiss()
  return nil
end

---Chooses a code action on the line as a person does, once it is offered.
local function code_action(line, title)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  local function begins(action)
    return vim.startswith(action.title, title)
  end
  wait('the code action is offered: ' .. title, function()
    local params = vim.lsp.util.make_range_params(0, 'utf-16')
    params.context = { diagnostics = {} }
    local answers_of = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 5000) or {}
    for _, answer in pairs(answers_of) do
      if vim.iter(answer.result or {}):any(begins) then
        return true
      end
    end
    return false
  end)
  -- The only one that is left is carried out without a prompt.
  vim.lsp.buf.code_action({ filter = begins, apply = true })
end

local fix_loop = require('fix_loop')

wait('the server attaches', function()
  return #vim.lsp.get_clients({ bufnr = 0, name = 'fix_loop' }) > 0
end)
wait('the finding is a diagnostic', function()
  local found = diagnostics()
  return #found == 1 and found[1].lnum == 1 and found[1].severity == vim.diagnostic.severity.WARN
end)
wait('the status counts it', function()
  local state = fix_loop.state()
  return state ~= nil and state.counts.open == 1
end)
say('status line:', fix_loop.status())

local progress = {}
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    table.insert(progress, event.data.params.value.kind)
  end,
})

-- Neovim has no workspace trust of its own, so the first dispatch asks for it.
if story == 'prompt' then
  answers = { beginning_with('Trust this workspace'), beginning_with('Approve expanded scope') }
  code_action(2, 'Fix with loop: ')
  wait('both questions were asked and answered', function()
    return #asked == 2
  end)
  if not asked[2].prompt:find('lib.txt', 1, true) then
    fail('the question names the file: ' .. asked[2].prompt)
  end
else
  -- By the command, and dismissed: the question stays open.
  answers = { beginning_with('Trust this workspace'), dismiss }
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd('FixLoop fix')
  wait('the question was asked and dismissed', function()
    return #asked == 2
  end)
  wait('the question is still open', function()
    local state = fix_loop.state()
    return state ~= nil and #state.questions == 1 and state.questions[1].kind == 'scope'
  end)
  say('status line:', fix_loop.status())
  code_action(2, 'Answer: Approve expanded scope')
end

wait('the finding is resolved', function()
  local state = fix_loop.state()
  return state ~= nil and state.counts.resolved == 1 and #state.questions == 0
end)
wait('its diagnostic is gone', function()
  return #diagnostics() == 0
end)
wait('the buffer shows the fix', function()
  return vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == 'GOOD line'
end)
wait('its progress has ended', function()
  return progress[1] == 'begin' and progress[#progress] == 'end'
end)
if vim.bo.modified then
  fail('the buffer is unmodified')
end

vim.cmd('FixLoop findings')
wait('the quickfix list holds it', function()
  local list = vim.fn.getqflist()
  return #list == 1 and list[1].text:find('resolved', 1, true) ~= nil
end)
vim.cmd('cclose')

-- The server goes with the editor, and it is waited for.
local ended = false
for _, client in ipairs(vim.lsp.get_clients({ name = 'fix_loop' })) do
  client:stop()
end
wait('the server has ended', function()
  ended = #vim.lsp.get_clients({ name = 'fix_loop' }) == 0
  return ended
end)
say('all done')
vim.cmd('qall!')
