-- The beginning of acquire, see there: one lock that is simply free, without a re-entry, a place in the queue or
-- tokens to reserve. That is what nearly every call is, and it is over before the functions of the rest are
-- made, which cost as much as all that happens here.
local call = redis.call

if #KEYS == 4 and not ARGV[5] and ARGV[4] ~= 'Q' and call('EXISTS', KEYS[3], KEYS[2]) == 0 then
  local time = call('TIME') -- the token is what mint makes
  local token = #time[2] == 6 and time[1] .. time[2] or time[1] .. string.format('%06d', time[2])
  local last = call('SET', KEYS[1], token, 'EX', '2592000', 'GET')
  if last and (#last ~= #token or last >= token) and tonumber(last) >= tonumber(token) then
    token = string.format('%.0f', tonumber(last) + 1)
    call('SET', KEYS[1], token, 'EX', '2592000')
  end
  call('HSET', KEYS[3], ARGV[3], '1', 'seq', ARGV[1], 'token', token)
  call('PEXPIRE', KEYS[3], ARGV[2])
  return token
end

