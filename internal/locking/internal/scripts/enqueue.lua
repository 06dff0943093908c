-- process_of returns the process of a holder's id.
local function process_of(id) return string.match(id, '^[^:]*') end

-- enqueue queues the process. A newcomer goes behind everybody, also when the clock has stepped back.
local function enqueue(queue, process)
  if not call('ZSCORE', queue, process) then
    local time = call('TIME')
    local score = time[1] * 1000000 + time[2]
    local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
    if last and tonumber(last) >= score then score = tonumber(last) + 1 end
    call('ZADD', queue, string.format('%.0f', score), process)
  end
  call('PEXPIRE', queue, 60000)
end
