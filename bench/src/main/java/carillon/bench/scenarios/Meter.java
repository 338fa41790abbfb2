package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Store;
import java.sql.SQLException;
import java.util.List;

/** Measures what a scenario costs: CPU, WAL, statements, memory. */
final class Meter {

  private static final double CPU_PER = 10_000;
  private static final long OUR_PID = ProcessHandle.current().pid();

  private final Contender contender;
  private final Reading start;

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
          contender.pid() == OUR_PID ? Proc.cpu(OUR_PID) : cpu(contender.pids()),
          Proc.cpuOfTree(store.pid()),
          Proc.cpuOfTree(OUR_PID),
          Proc.busy(),
          store.walBytes(),
          store.statements());
    }

    private static double cpu(List<Long> pids) {
      return pids.stream().mapToDouble(Proc::cpuOfTree).sum();
    }
  }

  private Meter(Contender contender, Reading start) {
    this.contender = contender;
    this.start = start;
  }

  static Meter start(Contender contender) throws SQLException {
    return new Meter(contender, Reading.of(contender));
  }

  /** Returns the costs per task; CPU per 10,000 tasks. */
  Figures stop(long tasks) throws SQLException {
    Reading now = Reading.of(contender);
    List<Long> processes =
        contender.pid() == OUR_PID
            ? List.of(OUR_PID)
            : contender.pids().stream().flatMap(pid -> Proc.tree(pid).stream()).toList();
    double seconds = (now.nanos - start.nanos) / 1e9;
    // Brokers and a second instance of the system are our descendants, so they do not count as
    // other.
    double other = now.machine - start.machine - (now.ours - start.ours);
    return new Figures()
        .with(Metric.CPU_CLIENT, (now.program - start.program) * CPU_PER / tasks)
        .with(Metric.CPU_SERVER, (now.server - start.server) * CPU_PER / tasks)
        .with(Metric.WAL, (now.wal - start.wal) / tasks)
        .with(Metric.STATEMENTS, (now.statements - start.statements) / tasks)
        .with(Metric.RSS, Proc.rssMb(processes, Proc.Memory.NOW))
        .with(Metric.RSS_PEAK, Proc.rssMb(processes, Proc.Memory.PEAK))
        .with(Metric.OTHER, Math.max(0, other / seconds));
  }
}
