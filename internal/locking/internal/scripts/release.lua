-- release gives back locks of one slot, and what may have been taken of them by an attempt that must be cancelled. A lock
-- that becomes free is passed on.
--
-- KEYS  for each lock: state, queue; then, if an attempt must be cancelled, its tombstone
-- ARGV  1 attempt,
--       2 for how long a free lock is reserved for the process that is woken, in ms, then for each lock:
--         id of the holder, which begins with the process and a colon,
--         queue action ('n' leave the queue alone, 'l' leave it, and give up a reservation);
--       then, with a tombstone, its life in ms.
--       For one lock without a tombstone the action may be missing, for 'n'.
-- Returns for each lock: 1 done   0 the lock is not the holder's. If one lock is done, it may be 1 instead of a list.
--
-- Running it twice changes things once: the second run does not find the holder.
local call = redis.call

-- The usual case comes first, as in acquire: one lock, for which nobody queues.
if not ARGV[4] and call('HEXISTS', KEYS[1], ARGV[3]) == 1 and call('EXISTS', KEYS[2]) == 0 then
  call('DEL', KEYS[1])
  return 1
end

-- include enqueue.lua
-- include wake.lua

local result = {}
for i = 0, math.floor(#KEYS / 2) - 1 do
  local state, queue, id, action = KEYS[1 + 2 * i], KEYS[2 + 2 * i], ARGV[3 + 2 * i], ARGV[4 + 2 * i]
  local passes = call('HEXISTS', state, id) == 1
  result[1 + i] = passes and 1 or 0
  if passes then call('DEL', state) end

  if action == 'l' then
    local process = process_of(id)
    call('ZREM', queue, process)
    if call('HGET', state, 'claim') == process then
      call('DEL', state)
      passes = true
    end
  end
  if passes then wake(state, queue, ARGV[2]) end
end

-- Last, so that a server without memory, which refuses it, has done the rest.
if #KEYS % 2 == 1 then call('SET', KEYS[#KEYS], '1', 'PX', ARGV[#ARGV]) end
return result
