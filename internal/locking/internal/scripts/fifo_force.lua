-- fifo_force takes one side of a lock from whoever holds it, if one of the holders that its caller has seen still does,
-- and wakes who may enter then. The holders learn of it with their next renewal.
--
-- KEYS  see fifo.lua; there is no tombstone
-- ARGV  1 side ('write', 'read'), 2 life of a waiter without a heartbeat, in ms, 3 the time after which nothing is done,
--       in ms of the server's clock, then the ids of the holders that were seen, of both sides
-- Returns 1 when one of them held it, else 0.
--
-- Running it twice changes things once: the second run finds none of the holders.

local waiter_life = tonumber(ARGV[2])

-- include fifo.lua

local side = ARGV[1]

local function holds(id)
  if side == 'write' then return call('HEXISTS', state, id) == 1 end
  return tonumber(call('ZSCORE', readers, id) or 0) > now
end

local function seen_one()
  for i = 4, #ARGV do
    if holds(ARGV[i]) then return true end
  end
end

if now > tonumber(ARGV[3]) or not seen_one() then return 0 end
if side == 'write' then
  call('DEL', state)
else
  call('UNLINK', readers, tokens)
end
wake()
return 1
