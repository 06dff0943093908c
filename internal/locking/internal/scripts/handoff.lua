-- handoff passes a lock on inside a process, from one holder to the next, or to another process.
--
-- KEYS  1 clock of the bucket, 2 state, 3 queue
-- ARGV  1 process, 2 attempt (grows with every attempt of the process), 3 lease in ms, 4 id of the holder,
--       5 id of the next one, 6 tokens after the first to reserve at most,
--       7 what to do if other processes wait ('n' keep the lock, 'y' yield, 'q' yield and queue behind them, 'p' the
--       same and we poll),
--       8 for how long a free lock is reserved for the process that is woken, in ms
-- Returns the new token, and after a space how many are reserved, if any; or 0 the lock is not the holder's,
--         1 another process comes first, 2 outdated by a later attempt.
--
-- Running it twice changes things once: the second run finds its own attempt in the state.
local call = redis.call

-- include mint.lua
-- include enqueue.lua
-- include wake.lua

local attempt = ARGV[2]
local state, queue, from, to = KEYS[2], KEYS[3], ARGV[4], ARGV[5]
local held = call('HMGET', state, from, 'seq', to, 'token')
if held[3] and held[2] == attempt then return held[4] end
if not held[1] then return 0 end
if tonumber(held[2]) >= tonumber(attempt) then return 2 end

if ARGV[7] ~= 'n' and call('EXISTS', queue) == 1 then
  call('DEL', state)
  if ARGV[7] ~= 'y' then enqueue(queue, ARGV[1], ARGV[7] == 'p') end
  wake(state, queue, ARGV[8])
  return 1
end
call('PEXPIRE', state, ARGV[3]) -- first, because a script that has written is given memory
local token, spare = mint(KEYS[1], ARGV[6])
call('HDEL', state, from)
call('HSET', state, to, 1, 'seq', attempt, 'token', token)
return spare and token .. ' ' .. spare or token
