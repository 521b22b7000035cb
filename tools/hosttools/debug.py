def main(options): raise NotImplementedError
