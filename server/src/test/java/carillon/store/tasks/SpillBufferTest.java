package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpillBufferTest {

  @TempDir Path directory;

  /** Allows a limited number of bytes in memory, and any number in a file. */
  private static final class Limited implements SpillBuffer.Budget {
    private final List<Path> directories;
    private long left;
    private long held;
    private long spilled;

    Limited(long left, Path... directories) {
      this.left = left;
      this.directories = List.of(directories);
    }

    @Override
    public List<Path> directories() {
      return directories;
    }

    @Override
    public boolean tryReserveMemory(int bytes) {
      boolean fits = bytes <= left;
      left -= fits ? bytes : 0;
      return fits;
    }

    @Override
    public void reserveMemory(int bytes) {
      held += bytes;
      if (held > 1 << 20) {
        throw new IllegalStateException("no memory");
      }
    }

    @Override
    public void reserveDisk(int bytes) {
      spilled += bytes;
    }
  }

  private static List<byte[]> records(int count) {
    Random random = new Random(3);
    List<byte[]> records = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] record = new byte[random.nextInt(100) == 0 ? 200_000 : random.nextInt(2_000)];
      random.nextBytes(record);
      records.add(record);
    }
    return records;
  }

  private static byte[] at(SpillBuffer.Reader reader, int index) {
    reader.moveTo(index);
    return Arrays.copyOfRange(reader.bytes(), reader.from(), reader.from() + reader.length());
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 500_000, Long.MAX_VALUE})
  void records_in_memory_and_on_disk_read_back_in_any_order(long memory) throws IOException {
    List<byte[]> records = records(1_000);
    Limited budget = new Limited(memory, directory.resolve("not-there"), directory);
    try (SpillBuffer buffer = new SpillBuffer(budget)) {
      for (byte[] record : records) {
        buffer.add(record, 0, record.length);
      }

      SpillBuffer.Reader inOrder = buffer.reader();
      for (int i = 0; i < records.size(); i++) {
        assertThat(at(inOrder, i)).isEqualTo(records.get(i));
      }
      SpillBuffer.Reader anyOrder = buffer.reader();
      Random random = new Random(5);
      for (int i = 0; i < 500; i++) {
        int index = random.nextInt(records.size());
        assertThat(at(anyOrder, index)).isEqualTo(records.get(index));
      }
      assertThat(budget.spilled > 0).isEqualTo(memory < Long.MAX_VALUE);
      assertThat(names())
          .as("files, which are unlinked at once so that none is left behind")
          .isEmpty();
    }
  }

  private List<Path> names() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  @Test
  void without_a_writable_directory_records_stay_in_memory() {
    Limited budget = new Limited(0, directory.resolve("not-there"));
    byte[] record = new byte[10_000];
    try (SpillBuffer buffer = new SpillBuffer(budget)) {
      for (int i = 0; i < 50; i++) {
        record[0] = (byte) i;
        buffer.add(record, 0, record.length);
      }
      assertThat(at(buffer.reader(), 42)[0]).isEqualTo((byte) 42);

      assertThatThrownBy(
              () -> {
                while (true) {
                  buffer.add(record, 0, record.length);
                }
              })
          .hasMessage("no memory");
    }
  }
}
