-- The common part of the scripts of first-come locks, FairMutex and RWMutex. A FairMutex is the writing side of such
-- a lock: nobody reads it.
--
-- KEYS  1 tombstone of an attempt (the clock where none is meant),
--       2 state     hash: the writer, token                           lives as long as the lease
--       3 readers   zset: reader -> expiry in ms                      as long as the longest of them
--       4 tokens    hash: reader -> token, token (of the phase),      the same
--                   reader and " begun" -> its fixed lease has begun
--       5 writing   zset: waiting writer -> score                     1 min
--       6 reading   zset: waiting reader -> score                     1 min
--       7 beats     zset: waiter -> deadline in ms                    1 min
--       8 pulse     string: "when anybody last asked about the lock,
--                           from when on the dead are dropped"        1 min
--       9 clock of the bucket
--
-- Both queues draw their scores from one sequence, so they are one queue in which the first writer can be found without
-- looking at the readers. A free lock belongs to the head: nobody passes a waiter that lives.
--
-- A script that includes this sets waiter_life first: after how many ms without a heartbeat a waiter is dead.
local call = redis.call
local tombstone, state, readers, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local writing, reading, beats, pulse, clock = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]

local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local queue_life = 60000
local some = 100         -- how many waiters or readers a script deals with at most

local function digits(number) return string.format('%.0f', number) end

-- read_until returns when the last reader's time is over, or nil if nobody reads. It forgets some of the readers whose
-- time is over.
local function read_until()
  local last = call('ZREVRANGE', readers, 0, 0, 'WITHSCORES')[2]
  if not last then return nil end
  if tonumber(last) <= now then
    call('UNLINK', readers, tokens)
    return nil
  end
  local over = call('ZRANGEBYSCORE', readers, '-inf', now, 'LIMIT', 0, some)
  if #over > 0 then
    call('ZREM', readers, unpack(over))
    for i = 1, #over do over[#over + 1] = over[i] .. ' begun' end
    call('HDEL', tokens, unpack(over))
  end
  return tonumber(last)
end

-- grace_until notes that somebody has asked about the lock, and returns until when no waiter is dropped. If nobody
-- has asked for a while, either the server stood still or nobody waits any more; the living get time to show that they
-- live. Those who were late when somebody last asked have had that time: it also returns the deadline that they missed.
-- The time that counts is the one that the asking script has read: the server may have stood still in the middle of it.
local function grace_until()
  local quiet = waiter_life * 2 / 3 -- nobody asked for so long: it was the server that stood still
  local respite = waiter_life       -- then all get so long to show that they live
  local talk, from = string.match(call('GET', pulse) or '', '^(%d+) (%d+)$')
  if not talk or now - talk > quiet or tonumber(from) > now + respite then from = now + respite end
  from = tonumber(from)
  redis.pcall('SET', pulse, digits(now) .. ' ' .. digits(from), 'PX', queue_life) -- else it is only unfair
  return from, talk and now - talk > quiet and talk or '-inf'
end

-- drop_dead drops waiters whose deadline has passed. It returns whether there were any, and from when on it may drop
-- them. A deadline too far away was set before the clock stepped back.
local function drop_dead()
  local from, late = grace_until()
  for _, waiter in ipairs(call('ZRANGEBYSCORE', beats, '(' .. now + waiter_life, '+inf', 'LIMIT', 0, some)) do
    call('ZADD', beats, now + waiter_life, waiter)
  end
  local dead = call('ZRANGEBYSCORE', beats, '-inf', now < from and late or now, 'LIMIT', 0, some)
  if #dead == 0 then return false, from end
  for _, key in ipairs({writing, reading, beats}) do call('ZREM', key, unpack(dead)) end
  return true, from
end

-- split returns the process and the ticket of a waiter.
local function split(waiter) return string.match(waiter, '^(.*):(.*)$') end

-- notify wakes a waiter: its process listens, and knows its ticket. A waiter that misses it polls.
local function notify(waiter)
  local process, ticket = split(waiter)
  redis.pcall('PUBLISH', 'lk:wake:' .. process, ticket .. ' ' .. state)
end

-- before returns the end of the range of scores of the readers ahead of the first waiting writer.
local function before(writer) return writer[2] and '(' .. writer[2] or '+inf' end

-- entitled returns those who may enter now: the readers up to the first writer, or the first writer.
local function entitled()
  if call('EXISTS', state) == 1 then return {} end
  local writer = call('ZRANGE', writing, 0, 0, 'WITHSCORES')
  local first = call('ZRANGEBYSCORE', reading, '-inf', before(writer), 'LIMIT', 0, some)
  if #first == 0 and writer[1] and not read_until() then return {writer[1]} end
  return first
end

-- expect gives waiters whose heartbeats have vanished, by eviction or by hand, the time to show that they live. It returns their
-- deadline.
local function expect()
  for _, queue in ipairs({writing, reading}) do
    for _, waiter in ipairs(call('ZRANGE', queue, 0, some - 1)) do
      call('ZADD', beats, 'NX', now + waiter_life, waiter)
    end
  end
  call('PEXPIRE', beats, queue_life)
  return now + waiter_life
end

-- suspect tells whether a waiter must be dead or its deadline wrong. It also returns the deadline.
local function suspect(waiter)
  local deadline = tonumber(call('ZSCORE', beats, waiter) or expect())
  return deadline <= now or deadline > now + waiter_life, deadline
end

-- wake notifies those who may enter now. An empty queue leaves nothing behind.
local function wake()
  local first = entitled()
  if first[1] and suspect(first[1]) and drop_dead() then first = entitled() end
  for _, waiter in ipairs(first) do notify(waiter) end
  if #first == 0 and call('EXISTS', writing, reading) == 0 then call('DEL', beats, pulse) end
end
