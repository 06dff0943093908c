-- fifo_release gives back one side of a lock, if the holder has it. It takes waiters that have given up out of the queue, and
-- wakes those that may enter then.
--
-- KEYS  see fifo.lua; the tombstone is of the attempt to cancel
-- ARGV  1 process, 2 attempt, 3 side ('write', 'read'), 4 id of the holder ('' for none),
--       5 ticket of a waiter that leaves ('' for none), 6 life of the tombstone in ms (0: write none),
--       7 life of a waiter without a heartbeat, in ms
-- Returns {1 done   0 the lock is not the holder's}
--
-- Running it twice changes things once: the second run does not find the holder.

local waiter_life = tonumber(ARGV[7])

-- include fifo.lua

local side, id, ticket = ARGV[3], ARGV[4], ARGV[5]

local function write()
  if call('HEXISTS', state, id) == 0 then return 0, false end
  call('DEL', state)
  return 1, true
end

local function read()
  local expiry = call('ZSCORE', readers, id)
  if not expiry or tonumber(expiry) <= now then return 0, false end
  call('ZREM', readers, id)
  call('HDEL', tokens, id, id .. ' begun')
  local last = read_until()
  if not last then
    call('DEL', tokens)
    return 1, true
  end
  call('PEXPIRE', readers, last - now)
  call('PEXPIRE', tokens, last - now)
  return 1, false
end

local result, passes = (side == 'read' and read or write)()
if ticket ~= '' then
  local waiter = ARGV[1] .. ':' .. ticket
  call('ZREM', beats, waiter)
  if call('ZREM', writing, waiter) + call('ZREM', reading, waiter) > 0 then passes = true end
end
if passes and call('EXISTS', beats, pulse) > 0 then wake() end
-- Last, so that a server without memory, which refuses it, has done the rest.
if ARGV[6] ~= '0' then call('SET', tombstone, '1', 'PX', ARGV[6]) end
return {result}
