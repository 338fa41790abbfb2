package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Store;
import java.sql.SQLException;
import java.util.List;

/** What a stretch of work cost: CPU, log, statements, memory. */
final class Meter {

  private static final double PER = 10_000;
  private static final long US = ProcessHandle.current().pid();

  private final Contender contender;
  private final Reading began;

  private record Reading(
      long nanos,
      double program,
      double server,
      double ours,
      double machine,
      double wal,
      double statements) {

    static Reading of(Contender contender) throws SQLException {
      Store store = contender.store();
      return new Reading(
          System.nanoTime(),
          contender.pid() == US ? Proc.cpu(US) : cpu(contender.pids()),
          Proc.cpuOfTree(store.pid()),
          Proc.cpuOfTree(US),
          Proc.busy(),
          store.walBytes(),
          store.statements());
    }

    private static double cpu(List<Long> pids) {
      return pids.stream().mapToDouble(Proc::cpuOfTree).sum();
    }
  }

  private Meter(Contender contender, Reading began) {
    this.contender = contender;
    this.began = began;
  }

  static Meter start(Contender contender) throws SQLException {
    return new Meter(contender, Reading.of(contender));
  }

  /** The costs, per task or for 10,000 of them. */
  Figures stop(long tasks) throws SQLException {
    Reading now = Reading.of(contender);
    List<Long> processes =
        contender.pid() == US
            ? List.of(US)
            : contender.pids().stream().flatMap(pid -> Proc.tree(pid).stream()).toList();
    double seconds = (now.nanos - began.nanos) / 1e9;
    // All that the benchmark has started is ours: brokers, and a second one of the same system.
    double other = now.machine - began.machine - (now.ours - began.ours);
    return new Figures()
        .with(Metric.CPU_CLIENT, (now.program - began.program) * PER / tasks)
        .with(Metric.CPU_SERVER, (now.server - began.server) * PER / tasks)
        .with(Metric.WAL, (now.wal - began.wal) / tasks)
        .with(Metric.STATEMENTS, (now.statements - began.statements) / tasks)
        .with(Metric.RSS, Proc.rssMb(processes, Proc.Memory.NOW))
        .with(Metric.RSS_PEAK, Proc.rssMb(processes, Proc.Memory.PEAK))
        .with(Metric.OTHER, Math.max(0, other / seconds));
  }
}
