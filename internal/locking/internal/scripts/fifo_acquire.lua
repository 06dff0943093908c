-- fifo_acquire takes one side of a lock, or queues for it.
--
-- KEYS  see fifo.lua
-- ARGV  1 process, 2 attempt, 3 side ('write', 'read'), 4 id of the holder, 5 lease in ms, 6 ticket of the waiter ('' for none),
--       7 queue action ('n' do not queue, 'q' queue if busy, or show that we still wait),
--       8 id of the same owner on the other side ('' for none),
--       9 life of a waiter without a heartbeat, in ms, 10 how often heartbeats are sent, in ms
-- Returns the token, or {code, ms until it makes sense to look again if nobody wakes us}
--   code  1 busy   3 this attempt is cancelled   4 the owner reads and wants to write: it would wait for itself
--
-- Running it twice changes things once: the second run finds the holder in the state.

local waiter_life = tonumber(ARGV[9])

-- include fifo.lua
-- include mint.lua

local side, id, lease = ARGV[3], ARGV[4], tonumber(ARGV[5])
local waiter, action, other = ARGV[1] .. ':' .. ARGV[6], ARGV[7], ARGV[8]
local poll = tonumber(ARGV[10])
local never = 60000

local function write()
  local fresh = mint(clock, '0')
  call('HSET', state, id, 1, 'token', fresh)
  call('PEXPIRE', state, lease)
  return 0, 0, fresh
end

-- read puts the owner among the readers, of whom the last one leaves at the given time. The first one begins a phase,
-- and all later ones get its token.
local function read(last, expiry, own)
  local phase = last and call('HGET', tokens, 'token') or mint(clock, '0')
  call('ZADD', readers, expiry, id)
  call('HSET', tokens, id, own or phase, 'token', phase)
  local life = math.max(last or 0, expiry) - now
  call('PEXPIRE', readers, life)
  call('PEXPIRE', tokens, life)
  return 0, 0, own or phase
end

-- ahead returns a waiter that must enter before us, if there is one.
local function ahead()
  local writer = call('ZRANGE', writing, 0, 0, 'WITHSCORES')
  if side == 'read' then
    local mine = call('ZSCORE', reading, waiter)
    if writer[2] and (not mine or tonumber(writer[2]) < tonumber(mine)) then return writer[1] end
    return nil
  end
  local reader = call('ZRANGEBYSCORE', reading, '-inf', before(writer), 'LIMIT', 0, 1)[1]
  if reader then return reader end
  if writer[1] ~= waiter then return writer[1] end
end

-- enqueue queues the waiter, or shows that it still waits. A newcomer goes behind everybody, also when the
-- clock has stepped back.
local function enqueue()
  local queue = side == 'read' and reading or writing
  local queued = call('ZSCORE', queue, waiter)
  if not queued then
    local score = micros
    for _, each in ipairs({writing, reading}) do
      local last = call('ZREVRANGE', each, 0, 0, 'WITHSCORES')[2]
      if last and tonumber(last) >= score then score = tonumber(last) + 1 end
    end
    call('ZADD', queue, digits(score), waiter)
  end
  call('ZADD', beats, now + waiter_life, waiter)
  call('PEXPIRE', beats, queue_life) -- it may have vanished
  if not queued then
    call('PEXPIRE', queue, queue_life)
    grace_until() -- not only from the next heartbeat on
  end
end

-- busy returns what to answer while somebody holds the lock for some more ms. Only the next in turn needs to look when
-- that is over.
local function busy(left)
  if action == 'q' then enqueue() end
  if left < poll and ahead() then left = never end
  return 1, left
end

-- reserved returns what to answer while the lock is free for a waiter ahead of us, which comes now or dies. If it is
-- dead, the lock may be ours.
local dropped = false
local function reserved(first)
  if action == 'q' then enqueue() end
  local dead, deadline = suspect(first)
  local from = now
  if dead then
    dropped, from = drop_dead()
    if dropped then
      first = ahead()
      if not first then return end
      deadline = tonumber(call('ZSCORE', beats, first) or 0)
    end
  end
  return 1, math.max(deadline, from) - now
end

-- take returns a code, when to look again and the token. An attempt under the same id may have come before, whose answer
-- was lost.
local function take()
  local held = call('HMGET', state, 'token', side == 'write' and id or other)
  if held[1] and not held[2] then return busy(call('PTTL', state)) end
  if side == 'write' and held[2] then
    if call('PTTL', state) < lease then call('PEXPIRE', state, lease) end
    return 0, 0, held[1]
  end
  local last = read_until()
  local expiry = last and tonumber(call('ZSCORE', readers, side == 'read' and id or other) or 0) or 0
  if side == 'read' and expiry > now then
    return read(last, math.max(expiry, now + lease), call('HGET', tokens, id))
  end
  if side == 'read' and held[2] then return read(last, now + lease) end -- the writer
  if expiry > now then return 4, 0 end

  if side == 'write' and last then return busy(last - now) end
  local first = ahead()
  if first then
    local code, pause = reserved(first)
    if code then return code, pause end
  end
  if side == 'read' then return read(last, now + lease) end
  return write()
end

-- leave takes a waiter that has got the lock out of its queue. If more readers wait than are woken at once, each that
-- leaves wakes one more.
local function leave()
  if call('ZREM', beats, waiter) == 0 then return end
  if side == 'write' then
    call('ZREM', writing, waiter)
    return
  end
  call('ZREM', reading, waiter)
  local writer = call('ZRANGE', writing, 0, 0, 'WITHSCORES')
  local next_one = call('ZRANGEBYSCORE', reading, '-inf', before(writer), 'LIMIT', some - 1, 1)[1]
  if next_one then notify(next_one) end
end

if call('EXISTS', tombstone, state, readers, writing, reading) == 0 then -- free, and nobody waits
  local _, _, fresh = (side == 'read' and read or write)(nil, now + lease)
  return fresh
end
if call('EXISTS', tombstone) == 1 then return {3, 0} end
local code, pause, fresh = take()
if code == 0 then leave() end
if dropped then wake() end
return code == 0 and fresh or {code, pause}
