-- acquire takes locks of one slot in the given order, and stops at the first that it cannot get.
--
-- KEYS  1 clock of the bucket, 2 tombstone of this attempt, then for each lock: state, queue
-- ARGV  1 attempt, 2 lease in ms, then for each lock:
--         id of the holder, which begins with the process and a colon,
--         queue action ('n' do not queue, 'q' queue if busy, 'p' the same and we poll, 'Q', 'P' the same as these and we
--         may be in the queue already),
--         how many tokens after the first to reserve at most; for one lock it may be missing, for none.
-- Returns the token if it was asked for one lock and took it. Else
--         {code, ms until the busy lock may become free, token, token ...}: a token for each lock taken. After a token
--         may come a space and how many more are reserved.
--   code  0 all taken   1 busy   3 this attempt is cancelled   5 busy, and we were not in the queue until now
--
-- Running it twice changes things once: the second run finds the holder in the state. The clock lives for
-- 30 days after the last acquisition, a queue for 1 min after somebody in it last asked.
local call = redis.call

-- The usual case comes before the functions for all others, because each function, call and argument costs: one lock, which is
-- free, by a process that is not in its queue and wants one token. The token is the time; else mint, below, knows what to do.
if not ARGV[5] and ARGV[4] ~= 'Q' and ARGV[4] ~= 'P' and call('EXISTS', KEYS[3], KEYS[2]) == 0 then
  local time = call('TIME')
  local token = time[1] .. (#time[2] == 6 and time[2] or string.format('%06d', time[2]))
  local last = call('SET', KEYS[1], token, 'EX', '2592000', 'GET')
  if not last or #last == #token and last < token then
    call('HSET', KEYS[3], ARGV[3], '1', 'token', token)
    call('PEXPIRE', KEYS[3], ARGV[2])
    return token
  end
  call('SET', KEYS[1], last, 'EX', '2592000')
end

-- include mint.lua
-- include enqueue.lua

local lease = ARGV[2]

local function grant(state, queue, id, action, reserved)
  if action == 'Q' or action == 'P' then call('ZREM', queue, process_of(id)) end
  local token, spare = mint(KEYS[1], reserved)
  call('HSET', state, id, 1, 'token', token)
  call('PEXPIRE', state, lease)
  return spare and token .. ' ' .. spare or token
end

-- occupied deals with a lock that is not simply free. It returns a code, and the token or for how long the lock is
-- busy; or nil if it is free for us after all.
local function occupied(state, queue, id, action)
  if call('EXISTS', KEYS[2]) == 1 then return 3 end
  local held = call('HMGET', state, id, 'token', 'claim')
  if held[1] then return 0, held[2] end -- a copy of this attempt has come before; its lease counts from the first
  local process = process_of(id)
  if held[3] == process then -- it is reserved for us
    call('DEL', state)
    return nil
  end
  local entered = action ~= 'n' and enqueue(queue, process, action == 'p' or action == 'P')
  return entered and 5 or 1, call('PTTL', state)
end

local result = {0, 0}
for i = 0, (#KEYS - 4) / 2 do
  local k, a = 2 * i, 3 * i
  local state, queue, id, action = KEYS[k + 3], KEYS[k + 4], ARGV[a + 3], ARGV[a + 4]
  local code, value
  if call('EXISTS', state, KEYS[2]) > 0 then
    code, value = occupied(state, queue, id, action)
  end
  if not code then
    value = grant(state, queue, id, action, ARGV[a + 5] or '0')
  elseif code ~= 0 then
    result[1], result[2] = code, value or 0
    return result
  end
  result[3 + i] = value
end
if #KEYS == 4 then return result[3] end
return result
