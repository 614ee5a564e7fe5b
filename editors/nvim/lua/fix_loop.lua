-- The Neovim side of Fix Loop: starts the server, turns `:FixLoop` into its commands, shows its state.
--
-- Thin on purpose: it keeps no state but the last status, watches no file (the server does) and decides nothing.
local M = {}

---The last `fixLoop/status` of each client, by client id.
---@type table<integer, table>
local statuses = {}

---The program with arguments: `vim.g.fix_loop_command` (a list or a path), else `fix-loop` of the PATH.
---@param ... string
---@return string[]
function M.command(...)
  local configured = vim.g.fix_loop_command or 'fix-loop'
  local command = type(configured) == 'table' and vim.deepcopy(configured) or { configured }
  return vim.list_extend(command, { ... })
end

local function warn(message)
  vim.notify('fix-loop: ' .. message, vim.log.levels.WARN)
end

---The client of the current buffer, else the only one there is.
---@return vim.lsp.Client?
local function client()
  local here = vim.lsp.get_clients({ name = 'fix_loop', bufnr = 0 })
  if #here == 0 then
    here = vim.lsp.get_clients({ name = 'fix_loop' })
  end
  if #here == 0 then
    warn('no server is running for this buffer')
  end
  return here[1]
end

---@param method string
---@param params table
---@param done fun(result: any)
local function request(method, params, done)
  local server = client()
  if not server then
    return
  end
  server:request(method, params, function(err, result)
    if err then
      warn(err.message)
    else
      done(result)
    end
  end, 0)
end

---@param name string without `fix-loop.`
---@param argument table
local function execute(name, argument)
  local empty = next(argument) == nil
  local params = { command = 'fix-loop.' .. name, arguments = { empty and vim.empty_dict() or argument } }
  request('workspace/executeCommand', params, function(result)
    if type(result) == 'table' and type(result.message) == 'string' then
      vim.notify('fix-loop: ' .. result.message, vim.log.levels.INFO)
    end
  end)
end

-- ------------------------------------------------------------------ questions

---Runs `go` when no key that the user is typing can land in a prompt: in normal mode.
local function when_idle(go)
  if vim.api.nvim_get_mode().mode == 'n' then
    return go()
  end
  vim.api.nvim_create_autocmd('ModeChanged', {
    pattern = '*:n',
    once = true,
    callback = vim.schedule_wrap(function()
      when_idle(go)
    end),
  })
end

---Like Neovim's own handler, but it never takes keys from somebody who is typing.
local function show_message_request(_, params)
  local actions = params.actions or {}
  if #actions == 0 then
    return vim.NIL
  end
  local waiting = coroutine.running()
  when_idle(function()
    vim.ui.select(actions, {
      kind = 'lsp_message',
      prompt = params.message .. ': ',
      format_item = function(action)
        return (action.title:gsub('%s*\r?\n%s*', ' '))
      end,
    }, function(choice)
      -- Scheduled, since the built-in `vim.ui.select` calls back before the yield below.
      vim.schedule(function()
        coroutine.resume(waiting, choice or vim.NIL)
      end)
    end)
  end)
  return coroutine.yield()
end

-- ------------------------------------------------------------------ status

---Unmodified buffers show what a loop wrote. A prompt or the command-line window would be disturbed.
local function reload_buffers()
  if vim.fn.getcmdwintype() == '' and vim.api.nvim_get_mode().mode == 'n' then
    vim.cmd('silent! checktime')
  end
end

local function status_changed(_, status, context)
  statuses[context.client_id] = status
  vim.schedule(function()
    reload_buffers()
    vim.api.nvim_exec_autocmds('User', { pattern = 'FixLoopStatus', modeline = false, data = status })
    vim.cmd.redrawstatus({ bang = true })
  end)
end

---Loops that have not ended; those that have stay listed, to be undone.
---@param state table
---@return table[]
local function running(state)
  return vim.tbl_filter(function(loop)
    return loop.state ~= 'finished'
  end, state.loops or {})
end

---The last status of the current buffer's server, or nil.
---@return table?
function M.state()
  local here = vim.lsp.get_clients({ name = 'fix_loop', bufnr = 0 })[1]
    or vim.lsp.get_clients({ name = 'fix_loop' })[1]
  return here and statuses[here.id]
end

---A few words for a status line; empty when there is nothing to say.
---@return string
function M.status()
  local state = M.state()
  if not state then
    return ''
  end
  local words = {}
  for _, loop in ipairs(running(state)) do
    table.insert(words, ('round %d of %d: %s'):format(loop.round, loop.max_rounds, loop.state))
  end
  if #(state.questions or {}) > 0 then
    table.insert(words, ('%d waiting for you'):format(#state.questions))
  end
  local open = (state.counts or {}).open or 0
  if #words == 0 and open > 0 then
    table.insert(words, ('%d open'):format(open))
  end
  return #words == 0 and '' or 'fix-loop: ' .. table.concat(words, ', ')
end

M.handlers = {
  ['fixLoop/status'] = status_changed,
  ['window/showMessageRequest'] = show_message_request,
}

-- ------------------------------------------------------------------ findings

---Pages through all findings, then calls `done` with them.
---@param filter table as `fixLoop/findings` takes it
---@param done fun(findings: table[])
local function all_findings(filter, done)
  local found = {}
  local function page(cursor)
    request('fixLoop/findings', vim.tbl_extend('force', filter, { cursor = cursor }), function(result)
      vim.list_extend(found, result.items)
      if result.next and result.next ~= vim.NIL then
        page(result.next)
      else
        done(found)
      end
    end)
  end
  page(nil)
end

---@param value any
local function present(value)
  return value ~= nil and value ~= vim.NIL
end

---Findings into the quickfix list.
function M.findings()
  -- An empty Lua table would be sent as a list.
  all_findings({ limit = 200 }, function(findings)
    local server = client()
    local items = {}
    for _, finding in ipairs(findings) do
      table.insert(items, {
        filename = present(finding.file) and server and vim.fs.joinpath(server.root_dir, finding.file) or nil,
        lnum = present(finding.line_start) and finding.line_start or 1,
        type = finding.severity == 'P0' and 'E' or 'W',
        text = ('[%s] %s'):format(finding.state, finding.title),
      })
    end
    vim.fn.setqflist({}, ' ', { title = 'Fix Loop findings', items = items })
    vim.cmd('botright copen')
  end)
end

---Calls `done` with the references of the findings on these lines (from 1).
---@param first integer
---@param last integer
---@param done fun(references: string[])
local function findings_on(first, last, done)
  -- Diagnostics have moved with the text, so they come first. They stand on the first cited line only.
  local references = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    local data = vim.tbl_get(diagnostic, 'user_data', 'lsp', 'data')
    if diagnostic.source == 'fix-loop' and data and diagnostic.lnum + 1 >= first and diagnostic.lnum + 1 <= last then
      table.insert(references, data.id)
    end
  end
  if #references > 0 then
    return done(references)
  end
  all_findings({ uri = vim.uri_from_bufnr(0) }, function(findings)
    for _, finding in ipairs(findings) do
      local from = present(finding.line_start) and finding.line_start or 1
      local to = present(finding.line_end) and finding.line_end or from
      if from <= last and first <= to then
        table.insert(references, finding.fingerprint)
      end
    end
    if #references == 0 then
      warn('there is no finding on this line')
    else
      done(references)
    end
  end)
end

-- ------------------------------------------------------------------ commands

---A command for each finding on the lines of the call. `text` is the key for what was written after the command.
local function for_findings(name, text)
  return function(call, rest)
    findings_on(call.line1, call.line2, function(references)
      for _, reference in ipairs(references) do
        local argument = { finding = reference }
        if text and rest ~= '' then
          argument[text] = rest
        end
        execute(name, argument)
      end
    end)
  end
end

---A command whose one argument must be written.
local function with(name, key)
  return function(_, rest)
    if rest == '' then
      warn(('`:FixLoop %s` needs a %s'):format(name, key))
    else
      execute(name, { [key] = rest })
    end
  end
end

local function plain(name)
  return function()
    execute(name, {})
  end
end

local function answer()
  local state = M.state()
  local questions = state and state.questions or {}
  if #questions == 0 then
    return warn('no question is open')
  end
  local function ask(question)
    if not question then
      return
    end
    vim.ui.select(question.options, { prompt = question.text .. ': ' }, function(choice)
      if choice then
        execute('answer', { question = question.id, choice = choice })
      end
    end)
  end
  if #questions == 1 then
    return ask(questions[1])
  end
  local function text(question)
    return question.text
  end
  vim.ui.select(questions, { prompt = 'Which question? ', format_item = text }, ask)
end

---The loop that was named, else one of those that have ended, as the user picks.
local function for_ended_loop(name)
  return function(_, rest)
    if rest ~= '' then
      return execute(name, { loop = rest })
    end
    local loops = vim.tbl_filter(function(loop)
      return loop.state == 'finished'
    end, (M.state() or {}).loops or {})
    if #loops == 0 then
      return warn('no loop has ended')
    end
    local function text(loop)
      return ('%s: %s'):format(loop.id, vim.iter(loop.findings):map(tostring):join(', '))
    end
    vim.ui.select(loops, { prompt = 'Which loop? ', format_item = text }, function(loop)
      if loop then
        execute(name, { loop = loop.id })
      end
    end)
  end
end

---@type table<string, fun(call: table, rest: string)>
local commands = {
  fix = function(call)
    findings_on(call.line1, call.line2, function(references)
      execute('fix', { findings = references })
    end)
  end,
  fixFile = function()
    execute('fixFile', { uri = vim.uri_from_bufnr(0) })
  end,
  fixAll = plain('fixAll'),
  answer = answer,
  defer = for_findings('defer', 'reason'),
  confirm = for_findings('confirm'),
  dispute = for_findings('dispute', 'reason'),
  reopen = for_findings('reopen'),
  verify = for_findings('verify'),
  report = for_findings('report'),
  cancel = function(_, rest)
    execute('cancel', rest == '' and {} or { loop = rest })
  end,
  undo = for_ended_loop('undo'),
  review = plain('review'),
  import = with('import', 'source'),
  fromCheck = with('fromCheck', 'name'),
  reload = plain('reload'),
  trust = plain('trust'),
  findings = M.findings,
  status = function()
    local words = M.status()
    vim.notify(words == '' and 'fix-loop: nothing to do' or words, vim.log.levels.INFO)
  end,
}

---Carries `:FixLoop NAME [REST]` out.
function M.run(call)
  local name, rest = call.args:match('^(%S+)%s*(.-)%s*$')
  local command = commands[name]
  if not command then
    return warn(('there is no command `%s`; press <Tab> after `:FixLoop ` to see them'):format(name))
  end
  command(call, rest)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  if line:match('FixLoop%s+%S+%s') then
    return {}
  end
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(commands))
  table.sort(names)
  return names
end

return M
