-- A study's result file made of formulas, for tests of what reads one: 10 000 points (:some of them done) over five axes.
-- Every 97th failed; point 1 is the same as point 0; replica 0 alone. Times follow a rule of thumb, not a simulation.
CREATE TABLE study(id INTEGER PRIMARY KEY, schema_version, name, text, hash, ringlet, points, objectives, shard, command, columns);
CREATE TABLE axis(axis INTEGER PRIMARY KEY, name, pointers, "values");
CREATE TABLE point(point INTEGER PRIMARY KEY, name, coordinates, replica, options, key, same_as, status, error);
CREATE TABLE result(point INTEGER PRIMARY KEY, time_ps, iteration_time_ps, compute_ps, exposed_comm_ps, host_ps, idle_ps, events, messages,
  bytes, busiest_link, busiest_utilization, memory_bytes, model_flops_utilization, tokens_per_second, busbw_GBps, bound_ps,
  retransmissions, fallback_share, peak_occupancy, mean_occupancy, server_bytes, fairness);
CREATE TABLE link(point, id, dim, count, bytes, busy_ps, active_ps, utilization);
INSERT INTO study VALUES(1, 2, 'pod <b>sizing</b>', '{"name": "pod sizing", "note": "</script><script>window.broken = true</script>"}',
  'feedfacecafebeef', '0.1.0', 10000, '[{"column": "iteration_time_ps", "goal": "min"}, {"column": "memory_bytes", "goal": "min"}]', NULL, 'run', '[]');
INSERT INTO axis VALUES(0, 'bandwidth', '["/network"]', '["25GB/s","50GB/s","100GB/s","200GB/s","400GB/s"]');
INSERT INTO axis VALUES(1, 'tp', '["/layout/tp"]', '[1,2,4,8]');
INSERT INTO axis VALUES(2, 'pp', '["/layout/pp"]', '[1,2,4,8,16]');
INSERT INTO axis VALUES(3, 'batch', '["/train/batch"]', '[16,32,64,128,256,512,1024,2048,4096,8192]');
INSERT INTO axis VALUES(4, 'algorithm', '["/algorithm"]', '["ring","tree","hierarchical","direct","halving_doubling","torus","nvls","tacos","bruck","pairwise"]');
CREATE TEMP TABLE grid AS
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
SELECT i, i % 5 AS b, i / 5 % 4 AS t, i / 20 % 5 AS p, i / 100 % 10 AS s, i / 1000 AS a FROM n;
CREATE TEMP TABLE shape AS SELECT i, b, t, p, s, a, (1 << t) AS tp, (1 << p) AS pp, 16 * (1 << s) AS batch, 25000000000 * (1 << b) AS bw FROM grid;
INSERT INTO point SELECT i, 'p' || i, '[' || b || ',' || t || ',' || p || ',' || s || ',' || a || ']', 0,
  '--layout tp=' || tp || ',pp=' || pp || ' --train batch=' || batch, printf('%08x', i * 2654435761 % 4294967296), CASE WHEN i = 1 THEN 0 END,
  CASE WHEN i % 97 = 5 THEN 3 ELSE 0 END,
  CASE WHEN i % 97 = 5 THEN 'layout: ' || pp || ' stages do not divide the layers' END FROM shape WHERE i < 9900;
INSERT INTO result SELECT i, c + e + d, c + e + d, c, e, 0, d, 1000 + i, 64 * tp * pp, batch * 4000000, CASE WHEN b < 2 THEN 'dim 1 switch up' ELSE 'dim 0 ring' END,
  CAST(e AS REAL) / (c + e + d), 80000000000 / tp / pp + batch * 1500000, 0.6 * c / (c + e + d), batch * 4096 * 1e12 / (c + e + d), bw / 1e9 * 0.8, c,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM (SELECT *, batch * 30000000000 / 64 + tp * 10000000 AS c, CAST(batch * 4000000.0 * tp / bw * 1e12 / (1 + a * 0.15) AS INTEGER) + 200000000 * (a + 1) AS e,
  batch * 30000000000 / 64 * (pp - 1) / (batch + pp) AS d FROM shape) WHERE i % 97 <> 5 AND i < 9900 AND i <> 1;
INSERT INTO link SELECT i, k, k % 2, 8, 1000000 * (8 - k), 1000000000 / (k + 1), 1100000000 / (k + 1), 0.8 / (k + 1)
FROM (SELECT point AS i FROM result WHERE point < 400), (SELECT 0 AS k UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7);
