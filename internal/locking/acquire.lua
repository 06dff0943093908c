-- acquire takes locks of one slot in the given order, and stops at the first that it cannot have.
--
-- KEYS  1 clock of the bucket, 2 tombstone of this attempt,
--       then for each lock: state, claim, queue
-- ARGV  1 process, 2 owner, 3 attempt (grows with every attempt of the process), 4 lease in ms,
--       then for each lock: count to hold afterwards, token of the hold that is re-entered ('' for none),
--       place ('n' do not queue, 'q' queue if busy, 'Q' the same and we may be in the queue already)
-- Returns {code, ms until the busy lock may become free, token, token ...}: a token for each lock taken.
--   code  0 all taken   1 busy   2 the hold to re-enter is gone   3 this attempt is cancelled or outdated
--
-- Running it twice changes things once: the second run finds its own attempt in the state.
-- The clock lives for 30 days after the last acquisition, a queue for 1 min after the last sign of
-- anybody in it. Every call costs as much as the rest of the script, so a free lock takes five.
local call = redis.call
local clock, cancelled, process, owner, attempt = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

-- grant takes a free lock. Its token is above the last one of the bucket, also when the clock of the
-- server has stepped back, and above those that a server has forgotten, because the time is.
local function grant(state, count)
  local time = call('TIME')
  local token = string.format('%.0f', time[1] * 1000000 + time[2])
  local last = call('SET', clock, token, 'EX', 2592000, 'GET')
  if last and tonumber(last) >= tonumber(token) then
    token = string.format('%.0f', tonumber(last) + 1)
    call('SET', clock, token, 'EX', 2592000)
  end
  call('HSET', state, owner, count, 'process', process, 'seq', attempt, 'token', token)
  call('PEXPIRE', state, ARGV[4])
  return tonumber(token)
end

-- reenter sets the count of a lock that is the owner's already, and returns a code and its token.
local function reenter(state, held, count, token)
  if token ~= '' and token ~= held[3] then return 2 end
  if tonumber(attempt) < tonumber(held[2]) then return 3 end
  if attempt ~= held[2] then
    call('HSET', state, owner, count, 'seq', attempt)
    if call('PTTL', state) < tonumber(ARGV[4]) then call('PEXPIRE', state, ARGV[4]) end
  end
  return 0, tonumber(held[3])
end

-- stand queues the process. A newcomer goes behind everybody, also when the clock has stepped back.
local function stand(queue)
  if not call('ZSCORE', queue, process) then
    local time = call('TIME')
    local score = time[1] * 1000000 + time[2]
    local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
    if last and tonumber(last) >= score then score = tonumber(last) + 1 end
    call('ZADD', queue, string.format('%.0f', score), process)
  end
  call('PEXPIRE', queue, 60000)
end

-- take takes one lock, and returns a code and the token, or for how long it is busy.
local function take(state, claim, queue, count, token, place)
  if call('EXISTS', state, claim, cancelled) > 0 then
    if call('EXISTS', cancelled) == 1 then return 3 end
    local held = call('HMGET', state, 'process', 'seq', 'token', owner)
    if held[1] == process and held[4] then return reenter(state, held, count, token) end
    if token ~= '' then return 2 end
    if held[1] or call('GET', claim) ~= process then -- it is somebody's, or promised to somebody
      if place ~= 'n' then stand(queue) end
      return 1, call('PTTL', held[1] and state or claim)
    end
    call('DEL', claim) -- it was promised to us
  elseif token ~= '' then
    return 2
  end
  if place == 'Q' then call('ZREM', queue, process) end
  return 0, grant(state, count)
end

local result = {0, 0}
for i = 0, (#KEYS - 5) / 3 do
  local k, a = 3 * i, 3 * i
  local code, value = take(KEYS[k + 3], KEYS[k + 4], KEYS[k + 5], ARGV[a + 5], ARGV[a + 6], ARGV[a + 7])
  if code ~= 0 then
    result[1], result[2] = code, value or 0
    return result
  end
  result[3 + i] = value
end
return result
