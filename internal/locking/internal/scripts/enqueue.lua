-- process_of returns the process of a holder's id.
local function process_of(id) return string.match(id, '^[^:]*') end

-- enqueue queues the process, or notes anew whether it polls, and returns whether it was not in the queue. A newcomer
-- goes behind everybody, also when the clock has stepped back. The position of a process that polls has a half, which
-- tells wake that PUBLISH need not count it.
local function enqueue(queue, process, polls)
  local before = call('ZSCORE', queue, process)
  local position
  if before then
    position = math.floor(before)
  else
    local time = call('TIME')
    position = time[1] * 1000000 + time[2]
    local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
    if last and tonumber(last) >= position then position = math.floor(last) + 1 end
  end
  if polls then position = position + 0.5 end
  if position ~= tonumber(before) then call('ZADD', queue, string.format('%.1f', position), process) end
  call('PEXPIRE', queue, 60000)
  return not before
end
