package carillon.bench.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcTest {

  @Test
  void a_process_name_may_contain_parentheses() {
    Proc.Stat stat =
        Proc.Stat.parse(
            "42 (post) gres (x) S 7 42 42 0 -1 4194560 900 80 0 0 150 50 30 20 20 0 1 0 5 6 7");

    assertThat(stat.pid()).isEqualTo(42);
    assertThat(stat.parent()).isEqualTo(7);
    assertThat(stat.own()).isCloseTo(2.0, within(1e-9));
    assertThat(stat.ended()).isCloseTo(0.5, within(1e-9));
  }

  @Test
  void idle_and_iowait_are_not_busy() {
    double busy = Proc.busy("cpu  100 10 200 99999 8888 5 6 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");

    assertThat(busy).isCloseTo(3.28, within(1e-9));
  }

  @Test
  void current_and_peak_memory_are_read_from_different_lines() {
    String status = "Name:\tjava\nVmHWM:\t  409600 kB\nVmRSS:\t  204800 kB\nThreads:\t1\n";

    assertThat(Proc.rssMb(status, Proc.Memory.NOW)).isEqualTo(200);
    assertThat(Proc.rssMb(status, Proc.Memory.PEAK)).isEqualTo(400);
  }

  @Test
  void a_tree_includes_grandchildren() throws Exception {
    Process parent = new ProcessBuilder("sh", "-c", "sh -c 'read line; true'; true").start();
    try {
      ProcessHandle grandchild = null;
      while (grandchild == null) {
        grandchild = parent.descendants().findFirst().orElse(null);
      }
      assertThat(Proc.tree(parent.pid())).startsWith(parent.pid()).contains(grandchild.pid());
    } finally {
      parent.descendants().forEach(ProcessHandle::destroy);
      parent.destroy();
    }
  }

  @Test
  void our_own_process_can_be_read() {
    long us = ProcessHandle.current().pid();

    double alone = Proc.cpu(us);
    assertThat(alone).isPositive();
    assertThat(Proc.cpuOfTree(us)).isGreaterThanOrEqualTo(alone);
    assertThat(Proc.rssMb(List.of(us), Proc.Memory.NOW)).isPositive();
  }
}
