-- The beginning of release, see there: the last hold of one lock that nobody queues for. That is what nearly every
-- call is, and it is over before the functions of the rest are made.
if #KEYS == 2 and not ARGV[3] then
  local held = redis.call('HMGET', KEYS[1], ARGV[2], 'seq')
  if held[1] and tonumber(ARGV[1]) > tonumber(held[2]) and redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('DEL', KEYS[1])
    return {1}
  end
end

