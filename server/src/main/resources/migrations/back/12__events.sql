-- Takes back V12. What is watched live lasts for seconds: nothing is kept.

-- Rather fail and be started again than have nodes of the new version wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP TABLE carillon.event, carillon.watch;
