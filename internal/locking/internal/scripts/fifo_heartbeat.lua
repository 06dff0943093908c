-- fifo_heartbeat shows that waiters of a process live, and tells which of them had better look at the lock.
--
-- KEYS  see fifo.lua; there is no tombstone
-- ARGV  1 process, 2 life of a waiter without a heartbeat, in ms, 3 how often heartbeats are sent, in ms, 4 when to
--       send them again if somebody is about to enter, in ms, then the tickets of its waiters
-- Returns when to beat again at the latest, in ms: when the lock expires, or soon if somebody is about to enter. Then
-- the tickets of those that may enter, and of those that are no longer in the queue.

local waiter_life = tonumber(ARGV[2])

-- include fifo.lua

local look = {ARGV[3]}
-- First, because a script that has written is given memory.
for _, key in ipairs({writing, reading, beats}) do call('PEXPIRE', key, queue_life) end
for i = 5, #ARGV do
  local waiter = ARGV[1] .. ':' .. ARGV[i]
  local queued = call('ZSCORE', writing, waiter) or call('ZSCORE', reading, waiter)
  if queued and call('ZSCORE', beats, waiter) then
    call('ZADD', beats, now + waiter_life, waiter)
  else
    look[#look + 1] = ARGV[i]
  end
end
if call('EXISTS', beats) == 0 then return look end

if drop_dead() then wake() end
local first = entitled()
if first[1] then suspect(first[1]) end -- its heartbeats may have vanished
for _, waiter in ipairs(first) do
  local process, ticket = split(waiter)
  if process == ARGV[1] then look[#look + 1] = ticket end
end
if first[1] then
  look[1] = ARGV[4]
elseif call('EXISTS', state) == 1 then
  local left = call('PTTL', state)
  if left >= 0 then look[1] = digits(left) end -- without an expiry: as often as usual
else
  look[1] = digits((read_until() or now) - now)
end
return look
