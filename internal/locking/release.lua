-- release tells the server how often an owner holds locks of one slot from now on: once less after an
-- unlock, not at all after the last one, and as often as before when an attempt has failed or must be
-- cancelled. A lock that becomes free is passed on.
--
-- KEYS  1 tombstone of the attempt to cancel, then for each lock: state, claim, queue
-- ARGV  1 process, 2 owner, 3 attempt (grows with every attempt of the process),
--       4 life of the tombstone in ms (0: write none), 5 life of a reservation in ms,
--       then for each lock: count to hold afterwards, ms that the remaining holds need,
--       place ('n' leave the queue alone, 'c' give up a reservation, 'l' give it up and leave the queue)
-- Returns for each lock: 1 done   0 the lock is not the owner's   2 outdated by a later attempt
--
-- Running it twice changes things once: the second run is not later than the first.
local process, owner, attempt = ARGV[1], ARGV[2], tonumber(ARGV[3])
local result = {}

for i = 0, (#KEYS - 1) / 3 - 1 do
  local state, claim, queue = KEYS[2 + 3 * i], KEYS[3 + 3 * i], KEYS[4 + 3 * i]
  local count, remaining, place = ARGV[6 + 3 * i], ARGV[7 + 3 * i], ARGV[8 + 3 * i]
  local held = redis.call('HMGET', state, 'process', 'seq', owner)
  local passes = false

  if held[1] ~= process or not held[3] then
    result[1 + i] = 0
  elseif attempt <= tonumber(held[2]) then
    result[1 + i] = 2
  elseif count == '0' then
    result[1 + i] = 1
    redis.call('DEL', state)
    passes = true
  else
    result[1 + i] = 1
    redis.call('HSET', state, owner, count, 'seq', ARGV[3])
    redis.call('PEXPIRE', state, remaining)
  end

  if place == 'l' then redis.call('ZREM', queue, process) end
  if place ~= 'n' and redis.call('GET', claim) == process then
    redis.call('DEL', claim)
    passes = true
  end
  if passes then wake(state, claim, queue, ARGV[5]) end
end

-- Last, so that a server without memory, which refuses it, has done the rest.
if ARGV[4] ~= '0' then redis.call('SET', KEYS[1], '1', 'PX', ARGV[4]) end
return result
