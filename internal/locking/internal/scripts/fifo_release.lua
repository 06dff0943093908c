-- fifo_release tells the server how often an owner holds one side of a lock from now on: once less after an unlock, not
-- at all after the last one, and as often as before if an attempt has failed or must be cancelled. It takes waiters
-- that have given up out of the queue, and wakes those that may enter then.
--
-- KEYS  see fifo.lua; the tombstone is of the attempt to cancel
-- ARGV  1 process, 2 attempt (grows with every attempt of the process; 0: the count is not told),
--       3 side ('write', 'read'), 4 id of the holder, 5 count to hold afterwards,
--       6 longest lease of the holds that are left, in ms, 7 ticket of a waiter that leaves ('' for none),
--       8 life of the tombstone in ms (0: write none), 9 life of a waiter without a heartbeat, in ms
-- Returns {1 done   0 the lock is not the holder's   2 outdated by a later attempt}
--
-- Running it twice changes things once: the second run is not later than the first.

local waiter_life = tonumber(ARGV[9])

-- include fifo.lua

local attempt, side, id, count, longest = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])

local function write()
  local held = call('HMGET', state, 'seq', id)
  if not held[2] then return 0 end
  if tonumber(attempt) <= tonumber(held[1]) then return 2 end
  if count == '0' then
    call('DEL', state)
    return 1, true
  end
  -- First, because a script that has written is given memory. Never further away, never below what a renewal gave.
  call('PEXPIRE', state, longest, 'LT')
  call('HSET', state, id, count, 'seq', attempt)
  return 1
end

local function read()
  local expiry = call('ZSCORE', readers, id)
  local record = call('HGET', counts, id)
  if not record or not expiry or tonumber(expiry) <= now then return 0 end
  local seq, token = string.match(record, ' (.*) (.*)')
  if tonumber(attempt) <= tonumber(seq) then return 2 end
  if count == '0' then
    call('ZREM', readers, id)
    call('HDEL', counts, id)
  else
    call('PEXPIRE', counts, longest, 'LT') -- as above; it is put right below
    call('HSET', counts, id, count .. ' ' .. attempt .. ' ' .. token)
    if tonumber(expiry) > now + longest then call('ZADD', readers, now + longest, id) end
  end
  local last = read_until()
  if not last then
    call('DEL', counts)
    return 1, true
  end
  call('PEXPIRE', readers, last - now)
  call('PEXPIRE', counts, last - now)
  return 1
end

local result, passes = 0, false
if attempt ~= '0' then
  result, passes = (side == 'read' and read or write)()
end
if ARGV[7] ~= '' then
  local waiter = ARGV[1] .. ':' .. ARGV[7]
  call('ZREM', beats, waiter)
  if call('ZREM', writing, waiter) + call('ZREM', reading, waiter) > 0 then passes = true end
end
if passes and call('EXISTS', beats, pulse) > 0 then wake() end
-- Last, so that a server without memory, which refuses it, has done the rest.
if ARGV[8] ~= '0' then call('SET', tombstone, '1', 'PX', ARGV[8]) end
return {result}
