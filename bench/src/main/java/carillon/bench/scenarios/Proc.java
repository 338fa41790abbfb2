package carillon.bench.scenarios;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads CPU and memory of processes from {@code /proc}. */
public final class Proc {

  /** The unit of times in /proc, which is 1/100 s on every Linux in use. */
  private static final double TICK = 0.01;

  private static final Path ROOT = Path.of("/proc");

  private Proc() {}

  /** Current or peak resident memory of a process. */
  public enum Memory {
    NOW("VmRSS"),
    PEAK("VmHWM");

    private final Pattern line;

    Memory(String name) {
      this.line = Pattern.compile("(?m)^" + name + ":\\s+(\\d+) kB$");
    }
  }

  /**
   * One line of {@code /proc/PID/stat}.
   *
   * @param own its CPU seconds
   * @param ended CPU seconds of its children that have exited and were waited for
   */
  record Stat(long pid, long parent, double own, double ended) {

    /** The name, in parentheses, may itself contain parentheses and spaces. */
    static Stat parse(String line) {
      int name = line.indexOf('(');
      String[] rest = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
      return new Stat(
          Long.parseLong(line.substring(0, name).strip()),
          Long.parseLong(rest[1]),
          ticks(rest[11]) + ticks(rest[12]),
          ticks(rest[13]) + ticks(rest[14]));
    }
  }

  private static double ticks(String text) {
    return Long.parseLong(text) * TICK;
  }

  /** CPU seconds of one process. */
  static double cpu(long pid) {
    return stat(pid).map(Stat::own).orElse(0.0);
  }

  /** CPU seconds of a process, its descendants, and their children that have exited. */
  public static double cpuOfTree(long pid) {
    return stats(pid).stream().mapToDouble(process -> process.own() + process.ended()).sum();
  }

  /** A process and all its descendants. */
  public static List<Long> tree(long pid) {
    return stats(pid).stream().map(Stat::pid).toList();
  }

  private static List<Stat> stats(long pid) {
    Map<Long, List<Stat>> children = new HashMap<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(ROOT, "[0-9]*")) {
      for (Path process : processes) {
        stat(Long.parseLong(process.getFileName().toString()))
            .ifPresent(s -> children.computeIfAbsent(s.parent(), _ -> new ArrayList<>()).add(s));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    List<Stat> tree = new ArrayList<>();
    stat(pid).ifPresent(tree::add);
    for (int i = 0; i < tree.size(); i++) {
      tree.addAll(children.getOrDefault(tree.get(i).pid(), List.of()));
    }
    return tree;
  }

  private static Optional<Stat> stat(long pid) {
    try {
      return Optional.of(Stat.parse(read(pid, "stat")));
    } catch (IOException _) {
      return Optional.empty(); // the process has exited
    }
  }

  /** Busy CPU seconds of all cores since boot. */
  static double busy() {
    try {
      return busy(Files.readString(ROOT.resolve("stat")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The first line is {@code cpu user nice system idle iowait irq softirq steal ...}. */
  static double busy(String stat) {
    String[] times = stat.substring(0, stat.indexOf('\n')).split("\\s+", -1);
    double sum = 0;
    for (int i = 1; i <= 8; i++) {
      sum += i == 4 || i == 5 ? 0 : ticks(times[i]);
    }
    return sum;
  }

  /** Memory of processes in MB; shared pages count for each process. */
  public static double rssMb(List<Long> pids, Memory memory) {
    double sum = 0;
    for (long pid : pids) {
      try {
        sum += rssMb(read(pid, "status"), memory);
      } catch (IOException _) {
        // the process has exited
      }
    }
    return sum;
  }

  static double rssMb(String status, Memory memory) {
    Matcher matcher = memory.line.matcher(status);
    return matcher.find() ? Long.parseLong(matcher.group(1)) / 1024.0 : 0;
  }

  /** The load average of the machine over the last minute. */
  public static double load() throws IOException {
    String averages = Files.readString(ROOT.resolve("loadavg"));
    return Double.parseDouble(averages.substring(0, averages.indexOf(' ')));
  }

  private static String read(long pid, String file) throws IOException {
    return Files.readString(ROOT.resolve(Long.toString(pid)).resolve(file));
  }
}
