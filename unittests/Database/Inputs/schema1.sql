-- A file of schema version 1, as the first Attune that kept trials wrote it.
PRAGMA application_id = 1098151022;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL);
INSERT INTO programs VALUES(1,'abc','mlp.mlir');
CREATE TABLE targets (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL UNIQUE);
INSERT INTO targets VALUES(1,'{"cores":1,"cpu":"znver3","features":"","l1Bytes":32768,"l2Bytes":524288,"l3Bytes":8388608,"triple":"x86_64-unknown-linux-gnu","vectorBytes":16,"vectorRegisters":16}');
CREATE TABLE dispatches (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  sizes TEXT NOT NULL,
  root_op TEXT NOT NULL,
  shapes TEXT NOT NULL,
  UNIQUE (fingerprint, sizes));
INSERT INTO dispatches VALUES(1,'9f86d081884c7d65','','contraction','4x784x10xf32');
CREATE TABLE program_dispatches (
  program_id INTEGER NOT NULL REFERENCES programs (id),
  dispatch_id INTEGER NOT NULL REFERENCES dispatches (id),
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (program_id, dispatch_id, name)) WITHOUT ROWID;
INSERT INTO program_dispatches VALUES(1,1,'contraction_4x784x10',2);
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  program_id INTEGER NOT NULL REFERENCES programs (id),
  target_id INTEGER NOT NULL REFERENCES targets (id),
  threads INTEGER NOT NULL,
  versions TEXT NOT NULL,
  seed TEXT NOT NULL,
  budget TEXT NOT NULL,
  command TEXT NOT NULL,
  owner TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  status TEXT NOT NULL);
INSERT INTO sessions VALUES(1,'a746d0dfb63f20c481a5b48f5f3ff478',1,1,2,'{"attune":"0.1.0","llvm":"22.1.0"}','18364758544493064720','10m','attune tune mlp.mlir','00000000-0000-0000-0000-000000000000 1 1',1000.0,1004.0,'finished');
CREATE TABLE configurations (
  id INTEGER PRIMARY KEY,
  schedule_version TEXT NOT NULL,
  configuration TEXT NOT NULL,
  UNIQUE (configuration, schedule_version));
INSERT INTO configurations VALUES(1,'1','{"knobs":["m_tile"],"schedule":"contraction_packed","values":{"m_tile":1}}');
INSERT INTO configurations VALUES(2,'1','{"knobs":["m_tile"],"schedule":"contraction_packed","values":{"m_tile":2}}');
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  number INTEGER NOT NULL,
  dispatch_id INTEGER NOT NULL REFERENCES dispatches (id),
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  phase TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  seconds TEXT NOT NULL,
  baseline_seconds TEXT NOT NULL,
  compile_seconds REAL NOT NULL,
  wall_seconds REAL NOT NULL,
  finished_at REAL NOT NULL,
  UNIQUE (session_id, number));
INSERT INTO trials VALUES(1,1,1,1,1,'search','ok','','','[8.0000000000000013e-06,8.8000000000000004e-06,0.033333333333333333]','[1.0000000000000001e-05,1.1e-05,0.041666666666666664]',0.25,0.5,1002.0);
INSERT INTO trials VALUES(2,1,2,1,2,'search','ok','','','[8.0000000000000013e-06,8.8000000000000004e-06,0.033333333333333333]','[1.0000000000000001e-05,1.1e-05,0.041666666666666664]',0.25,0.5,1003.0);
CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  at REAL NOT NULL,
  environment TEXT NOT NULL);
INSERT INTO environments VALUES(1,1,1001.0,'{"freeMemoryBytes":-1,"governor":"","load1":-1,"load5":-1,"megahertz":-1,"stealTicks":-1,"totalTicks":-1}');
CREATE INDEX trials_by_dispatch ON trials (dispatch_id);
CREATE INDEX trials_by_configuration ON trials (configuration_id);
CREATE INDEX sessions_by_program ON sessions (program_id);
CREATE INDEX environments_by_session ON environments (session_id);
COMMIT;
