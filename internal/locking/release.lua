-- release tells the server how often a holder has locks of one slot from now on: once less after an unlock,
-- not at all after the last one, and as often as before when an attempt has failed or must be cancelled. A
-- lock that becomes free is passed on.
--
-- KEYS  1 tombstone of the attempt to cancel, then for each lock: state, queue
-- ARGV  1 process, 2 attempt (grows with every attempt of the process),
--       3 life of the tombstone in ms (0: write none), 4 life of a reservation in ms, then for each lock:
--         id of the holder ('' for none), count to hold afterwards, longest lease of the holds that are left, in ms,
--         place ('n' leave the queue alone, 'c' give up a reservation, 'l' give it up and leave the queue)
-- Returns for each lock: 1 done   0 the lock is not the holder's   2 outdated by a later attempt
--
-- Running it twice changes things once: the second run is not later than the first.
local result = {}
for i = 0, (#KEYS - 3) / 2 do
  local state, queue = KEYS[2 + 2 * i], KEYS[3 + 2 * i]
  local id, count, place = ARGV[5 + 4 * i], ARGV[6 + 4 * i], ARGV[8 + 4 * i]
  local held = redis.call('HMGET', state, id, 'seq', 'claim')
  local passes = false

  if not held[1] then
    result[1 + i] = 0
  elseif tonumber(ARGV[2]) <= tonumber(held[2]) then
    result[1 + i] = 2
  elseif count == '0' then
    result[1 + i] = 1
    redis.call('DEL', state)
    passes = true
  else
    result[1 + i] = 1
    -- First, for a script that has written is given memory. Never further away, never below what a renewal gave.
    redis.call('PEXPIRE', state, ARGV[7 + 4 * i], 'LT')
    redis.call('HSET', state, id, count, 'seq', ARGV[2])
  end

  if place == 'l' then redis.call('ZREM', queue, ARGV[1]) end
  if place ~= 'n' and held[3] == ARGV[1] then
    redis.call('DEL', state)
    passes = true
  end
  if passes then wake(state, queue, ARGV[4]) end
end

-- Last, so that a server without memory, which refuses it, has done the rest.
if ARGV[3] ~= '0' then redis.call('SET', KEYS[1], '1', 'PX', ARGV[3]) end
return result
